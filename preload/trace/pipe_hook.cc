// pipe2, against libunwind: it opens a pipe when it starts, to check doubtful addresses by
// writing bytes from them into it, and keeps it. Those would be two descriptors that the
// program did not ask for, and after a closefrom() the same numbers might be the program's
// files. So there is none for libunwind; stack_walk.cc has another way to check.
#include "preload/calls/hook.h"
#include "preload/trace/next.h"
#include "preload/trace/tracing.h"

ZAZEN_HOOK int pipe2(int ends[2], int flags) {
  if (zazen::trace::mode == zazen::trace::Mode::kWalking) {
    errno = EMFILE;
    return -1;
  }
  return ZAZEN_NEXT(pipe2, (ends, flags), static_cast<int>(::syscall(SYS_pipe2, ends, flags)));
}
