// A line on standard error that comes just before a job is aborted: a launcher that reads it from
// a pipe may drop what it has not read when the abort comes (hydra does). Lean.
#pragma once
#include <sys/ioctl.h>
#include <time.h>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {

// Waits until the pipe is empty, at most for two seconds, and a little longer: the launcher has to
// hand it on.
inline void wait_for_stderr() {
  constexpr int kPauses = 200;
  constexpr struct timespec kPause = {0, 10'000'000}, kRest = {0, 50'000'000};
  int unread = 0;
  for (int i = 0; i < kPauses; ++i) {
    if (raw_call(SYS_ioctl, STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0) break;
    raw_call(SYS_nanosleep, &kPause, nullptr);
  }
  raw_call(SYS_nanosleep, &kRest, nullptr);
}

}  // namespace zazen
