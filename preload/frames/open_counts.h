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

// Notes that a frame's name was shown in a listing that no view filters.
void count_listed(const DatasetMatcher& matcher, FrameSeq seq);

struct OpenCounts {
  std::uint64_t hits;
  std::uint64_t misses;
};
OpenCounts opens_of_this_process();

}  // namespace zazen
