// Waits for MPI without occupying the processor.
//
// MPI's own calls poll without a pause. While a job starts, the ranks wait for the slowest one.
// If they share processors, their polling slows it down: these pauses made the start of 8 ranks
// on 2 busy processors a fifth shorter. So a small operation is started, tested a few times,
// and then tested after pauses that grow to a tenth of a millisecond. After about a second the
// pauses grow to 5 ms.
#pragma once
#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace zazen {

// Wall time in seconds, for time limits and for protocol_seconds.
inline double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class Backoff {
 public:
  // Pauses between two tests.
  void pause() {
    if (asked_++ < kAtOnce) return;
    const timespec pause{0, pause_ns_};
    ::nanosleep(&pause, nullptr);
    pause_ns_ = std::min(2 * pause_ns_, asked_ < kOften ? kLongestNs : kLongestOfAllNs);
  }

 private:
  static constexpr std::int64_t kAtOnce = 20, kOften = 10'000;
  static constexpr long kShortestNs = 10'000, kLongestNs = 100'000, kLongestOfAllNs = 5'000'000;
  std::int64_t asked_ = 0;
  long pause_ns_ = kShortestNs;
};

// MPI's error code.
inline int wait_for(MPI_Request* requests, int count) {
  for (Backoff backoff;; backoff.pause()) {
    int done = 0;
    const int code = PMPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS || done != 0) return code;
  }
}

// While an object lives, pauses of its thread end on time, not up to 50 us later.
class PreciseSleep {
 public:
  PreciseSleep() : slack_ns_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PreciseSleep() {
    if (slack_ns_ > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_ns_));
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  int slack_ns_;
};

}  // namespace zazen
