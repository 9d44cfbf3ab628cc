// QuietSignals: while an object lives, writes of its thread raise no SIGPIPE and no SIGXFSZ,
// and a terminal does not stop a background process (SIGTTOU). The destructor discards signals
// that the writes raised. Used for our own files and lines in other people's programs, which
// must not end because a reader left or because of `ulimit -f`. Keeps errno. Lean.
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
