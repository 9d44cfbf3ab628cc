// CancellationOff: while one lives, pthread_cancel waits. For what holds a descriptor across a
// cancellation point, and for calls that are none although what we put in their place is.
#pragma once
#include <pthread.h>

namespace zazen {

class CancellationOff {
 public:
  // The type, too: an asynchronous one does not wait for the state.
  CancellationOff() {
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_);
    ::pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_);
  }
  ~CancellationOff() {
    ::pthread_setcanceltype(type_, nullptr);
    ::pthread_setcancelstate(state_, nullptr);
  }
  CancellationOff(const CancellationOff&) = delete;
  CancellationOff& operator=(const CancellationOff&) = delete;

 private:
  int state_ = PTHREAD_CANCEL_ENABLE;
  int type_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace zazen
