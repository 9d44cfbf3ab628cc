// An open that goes to the origin: a miss, which the daemon is asked to fill, an open for
// writing, which suspends the copy, or a change, which drops it.
#pragma once
#include "preload/calls/open_flags.h"
#include "preload/frames/route.h"

namespace zazen {

// Drops a frame's copy before a change and, if there is one again or may be one soon, after it;
// then tells the user's worker of it, where frames are pushed, or other nodes may have copies.
// Where there is neither a copy nor a fill, and nobody is to hear of the change, nobody is
// called. Without a frame it does nothing.
//
// An open that may write and neither empties nor makes the file is no change (D25). It suspends
// the copy before the program has the descriptor: no later open of this node gets the copy
// until the last writer has closed the frame.
class Change {
 public:
  explicit Change(const Route& route);
  // The caller has looked for the copy.
  Change(const Route& route, const CopyBefore& before);
  // For an open: only if the flags say that it may write.
  Change(const Route& route, int open_flags);
  // Call after the real call; passes its result through, which is an open's descriptor.
  int done(int result) const;

 private:
  bool is_only_open(int fd) const;
  std::uint32_t settle(int result) const;

  const Route* route_;   // null: no change
  int open_flags_ = -1;  // -1: not an open
  CopyBefore before_;
};

// The origin's file was opened for the program (fd < 0: it was not). Counts it, and asks for
// a fill where a copy can be made. Keeps errno; returns fd, whose file may by then be the
// copy (fill = "wait").
int origin_opened(const Route& route, int flags, int fd);

}  // namespace zazen
