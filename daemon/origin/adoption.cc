#include "daemon/origin/adoption.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>

namespace zazen {

constexpr std::uint64_t kLookBytes = 4096, kLooks = 4;

std::string sample_pages(int fd, std::uint64_t size) {
  const std::uint64_t last = size > kLookBytes ? size - kLookBytes : 0;
  const std::uint64_t looks = last == 0 ? 1 : kLooks;
  std::string pages;
  for (std::uint64_t i = 0; i < looks; ++i) {
    char page[kLookBytes];
    const auto at = static_cast<off_t>(last * i / (kLooks - 1));
    const ssize_t wanted = static_cast<ssize_t>(std::min(kLookBytes, size));
    if (::pread(fd, page, sizeof page, at) != wanted) return "";
    pages.append(page, static_cast<std::size_t>(wanted));
  }
  return pages;
}

std::string sample_digest(int fd, std::uint64_t size) {
  const std::string pages = sample_pages(fd, size);
  if (pages.empty()) return "";
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(pages.data(), pages.size()));
  return std::string(reinterpret_cast<const char*>(digest.digest), sizeof digest.digest);
}

void compare_digest(int content_fd, std::uint64_t bytes, OriginLook& look) {
  if (look.status != 0 || bytes == 0) return;
  if (look.digest.empty() || look.digest != sample_digest(content_fd, bytes)) {
    look.status = ESTALE;
  }
}

}  // namespace zazen
