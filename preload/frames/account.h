// The account of what a process did with frames: in the daemon's counters, in the record of its
// job (under `zazenctl run`), and in the rank's tally (with a view) or in the ledger of a report
// (without one, if a report is wanted). Plain atomics in shared memory; forked children add to the
// same.
#pragma once
#include "preload/frames/route.h"

namespace zazen {

enum class Source { kCache, kOrigin };

// A frame was opened for reading.
void count_opened(const Route& route, int fd, Source source);

// What the thread's last such open was: 1 a hit, 2 a miss; 0 if nobody opened one, or
// zazen_last_open() has told it.
extern constinit thread_local int last_open __attribute__((tls_model("initial-exec")));

// A frame's name was shown in a listing that no view filters.
void count_listed(const Place& place, FrameSeq seq);

struct OpenCounts {
  std::uint64_t hits;
  std::uint64_t misses;
};
OpenCounts opens_of_this_process();

}  // namespace zazen
