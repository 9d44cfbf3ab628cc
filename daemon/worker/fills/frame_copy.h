// FrameCopy: one frame on its way into a temporary file.
//
// The origin's descriptor belongs to a running program and shares its offset: it is read by
// pread only. A fill that nobody waits for follows the program: it takes what is in the page
// cache, and fetches the rest when its pace allows. What was copied counts only if the origin's
// size, mtime and ctime are the same before and after, and as many bytes came as it has.
#pragma once
#include <sys/stat.h>

#include <functional>

#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/system/base_types.h"
#include "daemon/disk/copy_seal.h"
#include "daemon/worker/fills/fill_throttle.h"

namespace zazen {

struct TransferTerms {
  std::function<bool()> give_up;
  std::function<bool()> hurry;  // somebody waits for it: at full speed
  // Reserves more room for a frame with holes that has more blocks than its file system said.
  // All that was reserved is written. 0 or an errno.
  std::function<int(std::uint64_t bytes)> reserve_more;
  bool is_own = false;    // the origin's description is the worker's own
  bool is_spare = false;  // no program wanted most of it: see fill_throttle.h
};

class FrameCopy {
 public:
  // `origin` and `before`, its stat, are those that verify_origin() accepted. `target` is an
  // empty file, open for writing.
  FrameCopy(int origin, const struct stat& before, int target)
      : origin_(origin), before_(before), target_(target) {}

  // 0 or an errno.
  int transfer(FillThrottle& pace, const TransferTerms& terms);
  // The origin's stat now: 0, or ESTALE if it has changed meanwhile.
  int look_again(struct stat* after) const;

  // The room that the origin says the frame takes.
  std::uint64_t said_room() const { return room_of(before_); }
  // The room that the copy takes, once it is transferred.
  std::uint64_t room() const { return written_; }
  std::uint64_t checksum() const { return checksum_; }

 private:
  // The origin has fewer blocks than bytes: the copy leaves out the pages that are all zero.
  bool has_holes() const { return zazen::has_holes(before_); }
  int write(const char* bytes, std::size_t size, off_t offset, const TransferTerms& terms);
  int write_page(const char* bytes, std::size_t size, off_t offset, const TransferTerms& terms);

  int origin_;
  struct stat before_;
  int target_;
  std::uint64_t reserved_ = said_room(), written_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace zazen
