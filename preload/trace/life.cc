// The life of the plug-in in a process. It follows the shim's rules with three exceptions: it
// prints, it takes a lock around libunwind, and it has handlers around fork. These make the
// lock free in the child and start the child's figures at zero.
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/trace/call_site.h"
#include "preload/trace/figures.h"
#include "preload/trace/frame_files.h"
#include "preload/trace/next.h"
#include "preload/trace/printout.h"
#include "preload/trace/record.h"

namespace zazen::trace {

constinit thread_local Mode mode = Mode::kTracing;
constinit std::atomic<bool> active{false};

namespace {

constinit thread_local Mode mode_before_fork = Mode::kTracing;
constinit thread_local bool had_threads = false;

bool is_wanted() {
  const char* disabled = ::secure_getenv("ZAZEN_DISABLE");
  return ::getauxval(AT_SECURE) == 0 &&
         (disabled == nullptr || *disabled == '\0' || std::strcmp(disabled, "0") == 0);
}

// Each thread is a directory there.
bool is_alone() {
  ErrnoKeeper keep;
  struct stat tasks;
  return raw::fstatat(AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

// Other fork handlers may do anything, I/O included, while the lock is held; none of it is
// traced.
void before_fork() {
  hold_walks();
  mode_before_fork = mode;
  had_threads = !is_alone();
  mode = Mode::kQuiet;
}

void after_fork() {
  mode = mode_before_fork;
  release_walks();
}

void after_fork_in_child() {
  start_afresh_in_child();
  if (had_threads) end_walks();
  after_fork();
}

__attribute__((constructor)) void start() {
  ErrnoKeeper keep;
  resolve_next();
  if (!is_wanted() || !make_sites() || !make_frame_files() || !prepare_printout()) return;
  find_program();
  find_shim();
  ::pthread_atfork(before_fork, after_fork, after_fork_in_child);
  active.store(true);
}

__attribute__((destructor)) void end() {
  print_at_end();
}

}  // namespace
}  // namespace zazen::trace
