// NoSignals: while an object lives, its thread receives no signals. A thread that is started
// meanwhile inherits this, so it never runs the program's signal handlers.
#pragma once
#include <signal.h>

namespace zazen {

class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace zazen
