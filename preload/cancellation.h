// CancellationOff: while one lives, pthread_cancel waits. For what holds a descriptor across a
// cancellation point, and for calls that are none although what we put in their place is.
#pragma once
#include <pthread.h>

namespace zazen {

class CancellationOff {
 public:
  CancellationOff() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old_); }
  ~CancellationOff() { ::pthread_setcancelstate(old_, nullptr); }
  CancellationOff(const CancellationOff&) = delete;
  CancellationOff& operator=(const CancellationOff&) = delete;

 private:
  int old_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace zazen
