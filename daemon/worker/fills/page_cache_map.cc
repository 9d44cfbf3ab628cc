#include "daemon/worker/fills/page_cache_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

namespace zazen {
namespace {

const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kSlicePages = 2048;
constexpr std::chrono::microseconds kFromMemory(60);  // a server takes longer

}  // namespace

PageCacheMap::PageCacheMap(int fd, off_t size) : size_(static_cast<std::size_t>(size)) {
  if (size <= 0) return;
  void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) memory_ = memory;
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

bool PageCacheMap::is_there(std::size_t page) const {
  unsigned char there = 0;
  return ::mincore(static_cast<char*>(memory_) + page * kPage, kPage, &there) == 0 &&
         (there & 1) != 0;
}

double PageCacheMap::share() const {
  if (memory_ == nullptr) return 1;
  const std::size_t pages = (size_ - 1) / kPage + 1, looks = std::min(pages, kLooks);
  std::size_t found = 0;
  for (std::size_t i = 0; i < looks; ++i) found += is_there(pages * i / looks) ? 1 : 0;
  return static_cast<double>(found) / static_cast<double>(looks);
}

bool PageCacheMap::grew() {
  const double now = share();
  return now > std::exchange(seen_, now);
}

bool may_be_hidden(int fd, const struct stat& st) {
  return st.st_uid != ::geteuid() && ::faccessat(fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) != 0;
}

double share_by_reading(int fd, off_t size) {
  using Clock = std::chrono::steady_clock;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);  // a page, and none behind it
  std::minstd_rand random(static_cast<unsigned>(Clock::now().time_since_epoch().count()));
  const std::size_t part = static_cast<std::size_t>(size) / kPage / kProbes;
  std::size_t there = 0;
  for (; there < kProbes; ++there) {
    char byte;
    const std::size_t page = there * part + random() % part;
    const Clock::time_point began = Clock::now();
    const ssize_t got = ::pread(fd, &byte, 1, static_cast<off_t>(page * kPage));
    if (got != 1 || Clock::now() - began > kFromMemory) break;
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL);
  return static_cast<double>(there) / kProbes;
}

}  // namespace zazen
