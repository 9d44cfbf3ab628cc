// Counts a process's opens and listings of frames. The counts go to the daemon's counters and,
// under `zazenctl run`, to the job's record. With a view they also go to the rank's tally;
// without one, to the ledger of a report, if it is wanted. Plain atomics in shared memory;
// forked children add to the same figures.
#pragma once
#include "preload/frames/route.h"

namespace zazen {

enum class Source { kCache, kOrigin };

// Notes that a frame was opened for reading.
void count_opened(const Route& route, int fd, Source source);

// The result of the thread's last such open: 1 a hit, 2 a miss; 0 if there was none, or
// zazen_last_open() has returned it.
extern constinit thread_local int last_open __attribute__((tls_model("initial-exec")));

// Notes that a frame's name was shown in a listing that no view filters.
void count_listed(const DatasetMatcher& place, FrameSeq seq);

struct OpenCounts {
  std::uint64_t hits;
  std::uint64_t misses;
};
OpenCounts opens_of_this_process();

}  // namespace zazen
