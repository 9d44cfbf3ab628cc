// The life of the plug-in in a process. It follows the shim's rules with three exceptions: it
// prints, it takes a lock around libunwind, and it has handlers around fork. These make the
// lock free in the child and start the child's figures at zero.
#include <dlfcn.h>
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

constinit NextFunctions next;
constinit thread_local Mode mode = Mode::kTracing;
constinit std::atomic<bool> active{false};

void resolve_next() {
  ErrnoKeeper keep;
#define X(name) next.name.set(::dlsym(RTLD_NEXT, #name));
  ZAZEN_TRACED_FUNCTIONS(X)
#undef X
}

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

// _exit skips the destructors; forked workers, for example of Python's multiprocessing, end by
// it. (A child of vfork is not counted, and prints nothing.)
#define EXIT_HOOK(name)                                                            \
  ZAZEN_HOOK __attribute__((noreturn)) void name(int status) {                     \
    zazen::trace::print_at_end();                                                  \
    if (auto* real = zazen::trace::next.name.get(); real != nullptr) real(status); \
    for (;;) ::syscall(SYS_exit_group, status);                                    \
  }
EXIT_HOOK(_exit)
EXIT_HOOK(_Exit)

// pipe2 fails for libunwind. At its start libunwind opens a pipe, and keeps it, to check
// doubtful addresses by writing bytes from them into it. These would be two descriptors that
// the program did not open. After a closefrom() the same numbers might be the program's files.
// stack_walk.cc checks addresses in another way.
ZAZEN_HOOK int pipe2(int ends[2], int flags) {
  if (zazen::trace::mode == zazen::trace::Mode::kWalking) {
    errno = EMFILE;
    return -1;
  }
  return ZAZEN_NEXT(pipe2, (ends, flags), static_cast<int>(::syscall(SYS_pipe2, ends, flags)));
}
