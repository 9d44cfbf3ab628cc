// QuietSignals: while one lives, what this thread writes brings no SIGPIPE and no SIGXFSZ, nor does
// a terminal stop it as a background process (SIGTTOU); what its writes brought is taken away at the
// end. Our own files and lines are written so, in other
// people's programs: a reader that left, or `ulimit -f`, must not end them. Keeps errno. Lean.
#pragma once
#include <signal.h>
#include <time.h>

#include <cstdint>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {

class QuietSignals {
 public:
  QuietSignals() {
    raw_call(SYS_rt_sigpending, &pending_, sizeof pending_);
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, &kHeld, &before_, sizeof before_);
  }
  ~QuietSignals() {
    const struct timespec at_once = {};
    const std::uint64_t ours = kHeld & ~pending_;
    while (ours != 0 &&
           raw_call(SYS_rt_sigtimedwait, &ours, nullptr, &at_once, sizeof ours) > 0) {
    }
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  // Sets of signals as the kernel has them.
  static constexpr std::uint64_t kHeld =
      1ULL << (SIGPIPE - 1) | 1ULL << (SIGXFSZ - 1) | 1ULL << (SIGTTOU - 1);
  std::uint64_t pending_ = 0, before_ = 0;
};

}  // namespace zazen
