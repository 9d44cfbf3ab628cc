// Waiting for MPI without keeping the processor.
//
// MPI's own calls ask without a pause. While a job starts, the ranks wait for the slowest of
// them, and where they share processors they would take from it what it needs: the start of 8
// ranks on 2 busy processors was a fifth shorter this way alone. So small operations are begun,
// asked for a few times, and then asked for after pauses that grow to a tenth of a millisecond.
// After a second or more of that the slowest is far away, and the pauses grow to 5 ms.
#pragma once
#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace zazen {

class Patience {
 public:
  // Between two questions.
  void rest() {
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
  for (Patience patience;; patience.rest()) {
    int done = 0;
    const int code = PMPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
    if (code != MPI_SUCCESS || done != 0) return code;
  }
}

// While one lives, pauses of this thread end when they should, not up to 50 us later.
class PromptPauses {
 public:
  PromptPauses() : slack_ns_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PromptPauses() {
    if (slack_ns_ > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_ns_));
  }
  PromptPauses(const PromptPauses&) = delete;
  PromptPauses& operator=(const PromptPauses&) = delete;

 private:
  int slack_ns_;
};

}  // namespace zazen
