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
#include <cstdint>
#include <vector>

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
  // The caller is about to read this range: its pages do not count as somebody else's.
  void expect(off_t offset, std::size_t bytes);
  // Somebody else has brought pages in. It looks around `offset`, and at a part of the rest in
  // turn: a look takes well under a millisecond, whatever the size.
  bool grew(off_t offset);

 private:
  std::size_t count(std::size_t first_page, std::size_t pages) const;
  bool slice_grew(std::size_t slice);

  std::size_t size_ = 0;
  void* memory_ = nullptr;
  std::vector<std::uint32_t> seen_;  // pages there at the last look, for each slice
  std::size_t next_slice_ = 0;
};

// About which share of the file is there, from 0 to 1, by a look at some of its pages: it takes
// as long for a large file. Where the kernel does not tell, it reads a few pages, which must
// take no longer than memory does. `fd` is a description of the caller's own.
double share_there(int fd, const struct stat& st);

}  // namespace zazen
