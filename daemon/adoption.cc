#include "daemon/adoption.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>

#include "daemon/clock_tick.h"
#include "daemon/worker/origin.h"

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

OriginLook look_at_origin(const DatasetConfig& dataset, const std::string& name,
                          std::uint64_t bytes, bool all_users) {
  OriginLook look;
  OriginFacts& facts = look.origin;
  const UniqueFd origin =
      find_named(dataset, name, kToRead, all_users ? &facts.reached : nullptr);
  if (!origin.valid()) return look;
  look.is_there = ::fstat(origin.get(), &facts.st) == 0;
  if (!look.is_there) return look;
  // A later change of the rights must be seen by its time.
  if (all_users) outwait_clock(facts.st.st_ctim, [] { return false; });
  if (has_writer(origin.get())) {
    look.status = EBUSY;
  } else if (::fstat(origin.get(), &facts.st) != 0) {
    look.status = errno;
  } else if (!S_ISREG(facts.st.st_mode)) {
    look.status = EINVAL;
  } else if (static_cast<std::uint64_t>(facts.st.st_size) != bytes) {
    look.status = ESTALE;
  } else {
    if (bytes > 0) look.digest = sample_digest(origin.get(), bytes);
    if (all_users) facts.acl = read_acl(origin.get());
    look.status = 0;
  }
  return look;
}

void compare_digest(int content_fd, std::uint64_t bytes, OriginLook& look) {
  if (look.status != 0 || bytes == 0) return;
  if (look.digest.empty() || look.digest != sample_digest(content_fd, bytes)) {
    look.status = ESTALE;
  }
}

}  // namespace zazen
