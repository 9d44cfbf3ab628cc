#include "daemon/worker/cached_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace zazen {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kSlicePages = 2048;
constexpr std::size_t kSlicesInALook = 4;
constexpr std::uint32_t kNotLookedAt = std::numeric_limits<std::uint32_t>::max();

}  // namespace

CachedPages::CachedPages(int fd, off_t size) : size_(static_cast<std::size_t>(size)) {
  if (size <= 0) return;
  void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  seen_.assign((size_ - 1) / (kSlicePages * kPage) + 1, kNotLookedAt);
}

CachedPages::~CachedPages() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

std::size_t CachedPages::run(off_t offset, std::size_t limit) const {
  auto from = static_cast<std::size_t>(offset);
  if (memory_ == nullptr || from >= size_) return limit;
  std::size_t end = std::min(from + limit, size_);
  std::size_t page = from / kPage;
  std::size_t at = page * kPage;
  while (at < end) {
    unsigned char there[kSlicePages];
    std::size_t pages = std::min((end - at - 1) / kPage + 1, kSlicePages);
    if (::mincore(static_cast<char*>(memory_) + at, pages * kPage, there) != 0) return limit;
    std::size_t found = static_cast<std::size_t>(
        std::find_if(there, there + pages, [](unsigned char c) { return (c & 1) == 0; }) -
        there);
    at += found * kPage;
    if (found < pages) break;
  }
  return std::min(at, end) - std::min(at, from);
}

std::size_t CachedPages::count(std::size_t first_page, std::size_t pages) const {
  unsigned char there[kSlicePages];
  if (::mincore(static_cast<char*>(memory_) + first_page * kPage, pages * kPage, there) != 0) {
    return 0;
  }
  return static_cast<std::size_t>(
      std::count_if(there, there + pages, [](unsigned char c) { return (c & 1) != 0; }));
}

void CachedPages::expect(off_t offset, std::size_t bytes) {
  if (memory_ == nullptr) return;
  std::size_t page = static_cast<std::size_t>(offset) / kPage;
  std::size_t last =
      std::min((static_cast<std::size_t>(offset) + bytes - 1) / kPage, (size_ - 1) / kPage);
  for (; page <= last; ++page) {
    std::uint32_t& seen = seen_[page / kSlicePages];
    if (seen != kNotLookedAt && count(page, 1) == 0) ++seen;
  }
}

bool CachedPages::grew(off_t offset) {
  if (memory_ == nullptr) return false;
  std::size_t here = static_cast<std::size_t>(offset) / (kSlicePages * kPage);
  bool any = here < seen_.size() && slice_grew(here);
  for (std::size_t i = 0; i < std::min(kSlicesInALook, seen_.size()); ++i) {
    next_slice_ = (next_slice_ + 1) % seen_.size();
    if (slice_grew(next_slice_)) any = true;
  }
  return any;
}

bool CachedPages::slice_grew(std::size_t slice) {
  std::size_t first = slice * kSlicePages;
  std::size_t pages = std::min((size_ - 1) / kPage + 1 - first, kSlicePages);
  auto now = static_cast<std::uint32_t>(count(first, pages));
  std::uint32_t before = std::exchange(seen_[slice], now);
  return before != kNotLookedAt && now > before;
}

}  // namespace zazen
