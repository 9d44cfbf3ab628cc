// ReadAhead: fetches what a program will probably read next of a large frame without a copy.
//
// A fill of a large frame begins when half of it was read (filler.h). Until then the worker
// follows a program that reads the frame from its beginning on, by a look at the page cache.
// While the program pauses, the worker fetches the next bytes into the page cache. It leaves
// out one page, the marker: when that page comes, the program has read up to it. So the worker
// fetches at most as much ahead as the program is known to have read. For a program that does
// not go on after the first look, such as a reader of headers, it fetches nothing.
//
// Not thread safe.
#pragma once
#include <sys/stat.h>

#include <chrono>
#include <functional>

#include "daemon/worker/fills/fill_throttle.h"

namespace zazen {

class ReadAhead {
 public:
  // A program that has read less is not followed.
  static constexpr off_t kHeaderBytes = 256 << 10;
  static constexpr std::chrono::milliseconds kPatience{2000};

  struct Terms {
    std::function<bool()> may_follow;  // asked before it waits for the program
    std::function<bool()> ends;
    FillThrottle::Clock::duration patience = kPatience;
  };
  // Returns which share of the file programs have read, from 0 to 1: once that is half, or when
  // none has gone on for so long. `fd` is a description of the caller's own.
  double follow(int fd, const struct stat& st, FillThrottle& pace, const Terms& terms);

 private:
  off_t read_ = 0;        // programs have read all before
  bool goes_on_ = false;  // it has grown
  off_t ahead_ = 0;       // all before is in memory, but for the marker
  off_t marker_ = 0;      // 0: none
};

}  // namespace zazen
