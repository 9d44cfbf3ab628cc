// PageCacheMap: which pages of an origin's file the kernel has in memory, by mincore(2) of a
// mapping that nobody touches. So a fill can take what a program has fetched, and see that a
// program is reading.
//
// Where it cannot be known, all pages count as there: no mapping (FUSE with direct_io), or a
// file of another user's (the kernel then says yes to everything).
//
// Not thread safe.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace zazen {

class PageCacheMap {
 public:
  PageCacheMap(int fd, off_t size);
  PageCacheMap(const PageCacheMap&) = delete;
  PageCacheMap& operator=(const PageCacheMap&) = delete;
  ~PageCacheMap();

  bool known() const { return memory_ != nullptr; }
  // How many bytes from `offset` are there without a gap; at most `limit`.
  std::size_t run(off_t offset, std::size_t limit) const;
  // Which share of the pages is there, from 0 to 1, by a look at kLooks of them: it takes some
  // 50 us, whatever the size.
  double share() const;
  // The share has grown since the last call.
  bool grew();

 private:
  static constexpr std::size_t kLooks = 256;
  bool is_there(std::size_t page) const;

  std::size_t size_ = 0;
  void* memory_ = nullptr;
  double seen_ = 1;
};

// The kernel says that all pages are there if the caller neither owns the file nor may write
// to it.
bool may_be_hidden(int fd, const struct stat& st);

// About the share from the file's beginning on that is there, where the kernel does not tell.
// It reads some pages, up to the first one that takes longer than memory does. `fd` is a
// description of the caller's own; the file has at least kProbes pages.
inline constexpr std::size_t kProbes = 8;
double share_by_reading(int fd, off_t size);

}  // namespace zazen
