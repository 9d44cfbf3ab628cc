// pipe2 fails for libunwind. At its start libunwind opens a pipe, and keeps it, to check
// doubtful addresses by writing bytes from them into it. These would be two descriptors that
// the program did not open. After a closefrom() the same numbers might be the program's files.
// stack_walk.cc checks addresses in another way.
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
