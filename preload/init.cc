// The life of the shim in a process: set up before main, a few lines at exit. In between it has
// no thread, no socket, no memory other than its own pages.
#include <stdlib.h>
#include <time.h>

#include "bodhi/lean/system/quiet_signals.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/serial_report.h"
#include "preload/process/current_run.h"
#include "preload/process/current_view.h"
#include "preload/process/mpi_session.h"
#include "preload/process/node.h"
#include "preload/process/settings.h"

extern "C" __attribute__((weak)) const char* gnu_get_libc_version();

namespace zazen {

namespace {

// monotonic_ms() by a system call: for a single call this is cheaper than mapping two pages.
std::int64_t start_ms() {
  struct timespec now = {};
  raw_call(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// The loader of another C library (musl's) has loaded the shim. The hooks only forward there.
// The shim tells the user why, once for a program and its children.
void explain_foreign_libc() {
  constexpr char kSaid[] = "ZAZEN_NO_GLIBC";
  constexpr char kReason[] =
      "zazen: libzazen.so needs glibc; this program has another C library (musl?) and runs "
      "without Zazen\n";
  bool configured = ::getenv("ZAZEN_CONFIG") != nullptr || ::getenv("ZAZEN_RUNTIME") != nullptr;
  if (!configured || ::getenv("ZAZEN_DISABLE") != nullptr || ::getenv(kSaid) != nullptr) return;
  QuietSignals quiet;
  raw::write(STDERR_FILENO, kReason, sizeof kReason - 1);
  ::setenv(kSaid, "1", 1);
}

__attribute__((constructor)) void start(int, char**, char** environment) {
  ErrnoKeeper keep;
  real::prepare();
  real::prepare_syscall_hook();
  if (&::gnu_get_libc_version == nullptr)
    return explain_foreign_libc();  // and has no arguments
  read_settings(environment);
  if (!settings.active) return;
  path_prefilter.trust(&kNobodyServes);

  // Maps the table while there is only one thread, so that the first open finds it.
  bool alive = false;
  current_node(&alive, start_ms());

  // The view of the rank that started this process.
  if (settings.inherited_view[0] != '\0') inherit_view(settings.inherited_view);

  // Finds the plug-ins later, if this becomes an MPI program.
  remember_start_directory();
}

__attribute__((destructor)) void end() {
  if (!settings.active) return;
  ErrnoKeeper keep;
  write_serial_report();
  log_closing_line();
  end_run();
  note_ending(Ending::kExited);
  archive_own_view();
}

}  // namespace
}  // namespace zazen
