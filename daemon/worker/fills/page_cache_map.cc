#include "daemon/worker/fills/page_cache_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <utility>

namespace zazen {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kSlicePages = 2048;
constexpr std::size_t kSlicesInALook = 4;
constexpr std::uint32_t kNotLookedAt = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kLooks = 1024, kProbes = 8;
constexpr std::chrono::microseconds kFromMemory(60);  // a server takes longer

// The kernel says yes to everything where the caller neither owns the file nor may write to it.
bool may_be_hidden(int fd, const struct stat& st) {
  return st.st_uid != ::geteuid() && ::faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) != 0;
}

double share_by_reading(int fd, std::size_t pages) {
  using Clock = std::chrono::steady_clock;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);  // a page, and none behind it
  std::minstd_rand random(static_cast<unsigned>(Clock::now().time_since_epoch().count()));
  std::size_t there = 0;
  for (std::size_t i = 0; i < kProbes; ++i) {
    const std::size_t page = pages * i / kProbes + random() % (pages / kProbes);
    char byte;
    const Clock::time_point began = Clock::now();
    const ssize_t got = ::pread(fd, &byte, 1, static_cast<off_t>(page * kPage));
    if (got == 1 && Clock::now() - began < kFromMemory) ++there;
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
  return static_cast<double>(there) / kProbes;
}

}  // namespace

PageCacheMap::PageCacheMap(int fd, off_t size) : size_(static_cast<std::size_t>(size)) {
  if (size <= 0) return;
  void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return;
  memory_ = memory;
  seen_.assign((size_ - 1) / (kSlicePages * kPage) + 1, kNotLookedAt);
}

PageCacheMap::~PageCacheMap() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

std::size_t PageCacheMap::run(off_t offset, std::size_t limit) const {
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

std::size_t PageCacheMap::count(std::size_t first_page, std::size_t pages) const {
  unsigned char there[kSlicePages];
  if (::mincore(static_cast<char*>(memory_) + first_page * kPage, pages * kPage, there) != 0) {
    return 0;
  }
  return static_cast<std::size_t>(
      std::count_if(there, there + pages, [](unsigned char c) { return (c & 1) != 0; }));
}

double share_there(int fd, const struct stat& st) {
  const auto size = static_cast<std::size_t>(st.st_size);
  const std::size_t pages = (size + kPage - 1) / kPage;
  if (pages < kProbes) return 1;
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return share_by_reading(fd, pages);
  const std::size_t looks = std::min(pages, kLooks);
  std::size_t found = 0;
  for (std::size_t i = 0; i < looks; ++i) {
    unsigned char there = 0;
    ::mincore(static_cast<char*>(memory) + pages * i / looks * kPage, kPage, &there);
    found += there & 1;
  }
  ::munmap(memory, size);
  if (found == looks && may_be_hidden(fd, st)) return share_by_reading(fd, pages);
  return static_cast<double>(found) / static_cast<double>(looks);
}

void PageCacheMap::expect(off_t offset, std::size_t bytes) {
  if (memory_ == nullptr) return;
  std::size_t page = static_cast<std::size_t>(offset) / kPage;
  std::size_t last =
      std::min((static_cast<std::size_t>(offset) + bytes - 1) / kPage, (size_ - 1) / kPage);
  for (; page <= last; ++page) {
    std::uint32_t& seen = seen_[page / kSlicePages];
    if (seen != kNotLookedAt && count(page, 1) == 0) ++seen;
  }
}

bool PageCacheMap::grew(off_t offset) {
  if (memory_ == nullptr) return false;
  std::size_t here = static_cast<std::size_t>(offset) / (kSlicePages * kPage);
  bool any = here < seen_.size() && slice_grew(here);
  for (std::size_t i = 0; i < std::min(kSlicesInALook, seen_.size()); ++i) {
    next_slice_ = (next_slice_ + 1) % seen_.size();
    if (slice_grew(next_slice_)) any = true;
  }
  return any;
}

bool PageCacheMap::slice_grew(std::size_t slice) {
  std::size_t first = slice * kSlicePages;
  std::size_t pages = std::min((size_ - 1) / kPage + 1 - first, kSlicePages);
  auto now = static_cast<std::uint32_t>(count(first, pages));
  std::uint32_t before = std::exchange(seen_[slice], now);
  return before != kNotLookedAt && now > before;
}

}  // namespace zazen
