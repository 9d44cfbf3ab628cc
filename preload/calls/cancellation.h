// CancellationOff: while an object lives, pthread_cancel is deferred. Used by code that holds a
// descriptor across a cancellation point. Also used by hooks of calls that are no cancellation
// points, if the hook makes calls that are.
#pragma once
#include <pthread.h>

namespace zazen {

class CancellationOff {
 public:
  // Sets the type, too: asynchronous cancellation ignores the state.
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
