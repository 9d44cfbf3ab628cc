// _exit skips the destructors; forked workers, for example of Python's multiprocessing, end by
// it. (A child of vfork is not counted, and prints nothing.)
#include "preload/calls/hook.h"
#include "preload/trace/next.h"
#include "preload/trace/printout.h"

namespace {

[[noreturn]] void end_process(const zazen::Pointer<void(int)>& next, int status) {
  zazen::trace::print_at_end();
  if (next.get() != nullptr) next.get()(status);
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace

ZAZEN_HOOK [[noreturn]] void _exit(int status) {
  end_process(zazen::trace::next._exit, status);
}

ZAZEN_HOOK [[noreturn]] void _Exit(int status) {
  end_process(zazen::trace::next._Exit, status);
}
