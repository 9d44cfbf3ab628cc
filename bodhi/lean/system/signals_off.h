// SignalsOff: while an object lives, its thread takes no signals except those of faults. So no
// signal handler can leave by a jump, or call a hook, in the middle of our own code. Two system
// calls.
#pragma once
#include <signal.h>

#include <cstdint>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {

class SignalsOff {
 public:
  SignalsOff() { raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &kHeld, &before_, sizeof before_); }
  ~SignalsOff() {
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
  }
  // Tells whether a blocked signal of the program is pending.
  bool is_one_waiting() const {
    std::uint64_t pending = 0;
    raw_call(SYS_rt_sigpending, &pending, sizeof pending);
    return (pending & ~before_) != 0;
  }
  SignalsOff(const SignalsOff&) = delete;
  SignalsOff& operator=(const SignalsOff&) = delete;

 private:
  // Sets of signals as the kernel has them.
  static constexpr std::uint64_t kFaults = 1ULL << (SIGSEGV - 1) | 1ULL << (SIGBUS - 1) |
                                           1ULL << (SIGILL - 1) | 1ULL << (SIGFPE - 1) |
                                           1ULL << (SIGTRAP - 1) | 1ULL << (SIGSYS - 1);
  static constexpr std::uint64_t kHeld = ~kFaults;
  std::uint64_t before_ = 0;
};

}  // namespace zazen
