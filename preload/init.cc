// The life of the shim in a process: set up before main, a few lines at exit. In between it
// has no thread, no socket, no memory but its own pages.
#include <time.h>

#include "preload/current_view.h"
#include "preload/first_look.h"
#include "preload/guard.h"
#include "preload/hook.h"
#include "preload/mpi_session.h"
#include "preload/node.h"
#include "preload/raw.h"
#include "preload/real.h"
#include "preload/serial_report.h"
#include "preload/settings.h"
#include "preload/syscall_hook.h"

namespace zazen {

constinit thread_local int guard_depth = 0;

namespace {

// monotonic_ms() by a system call: for a single look that is cheaper than two pages to map.
std::int64_t start_ms() {
  struct timespec now = {};
  raw_call(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

__attribute__((constructor)) void start(int, char**, char** environment) {
  ErrnoKeeper keep;
  real::prepare();
  prepare_syscall_hook();
  read_settings(environment);
  if (!settings.active) return;
  first_look.trust(&kNobodyServes);

  // The table, before there are threads, so that the first open finds it mapped.
  bool alive = false;
  current_node(&alive, start_ms());

  // What the rank that started us may see.
  if (settings.inherited_view[0] != '\0') inherit_view(settings.inherited_view);

  // Where the plug-ins lie, should this become an MPI program.
  remember_start_directory();
}

__attribute__((destructor)) void end() {
  if (!settings.active) return;
  ErrnoKeeper keep;
  write_serial_report();
  log_closing_line();
  note_ending(Ending::kExited);
  put_away_own_view();
}

}  // namespace
}  // namespace zazen
