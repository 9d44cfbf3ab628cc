// The calls by which a process ends without exit handlers. A rank that uses them after
// MPI_Finalize still gets the exit status of its job (D24). The process that `zazenctl run`
// became ends its job as at exit. exit() itself needs no hook: the plug-in and the shim have
// exit handlers.
//
// May run in a vfork child and in a signal handler. So the plug-in and the shim make system
// calls only, and the plug-in acts only in the rank's own process.
#include <stdlib.h>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/serial_report.h"
#include "preload/process/current_run.h"
#include "preload/process/mpi_session.h"

using zazen::real::known;
using zazen::real::next;

namespace {

[[noreturn]] void end_process(void (*real)(int), int status) {
  status = zazen::status_at_end(status);
  if (zazen::is_process_of_run()) zazen::write_serial_report();
  zazen::end_run();
  if (real != nullptr) real(status);
  for (;;) zazen::raw_call(SYS_exit_group, status);
}

}  // namespace

ZAZEN_HOOK __attribute__((noreturn)) void _exit(int status) {
  end_process(known(next._exit), status);
}

ZAZEN_HOOK __attribute__((noreturn)) void _Exit(int status) {
  end_process(known(next._Exit), status);
}

ZAZEN_HOOK __attribute__((noreturn)) void quick_exit(int status) noexcept {
  end_process(known(next.quick_exit), status);
}
