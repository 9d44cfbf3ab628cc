// The exec calls. The forms that take an environment get a rank's view added
// (view_environment.h). The forms without one (execv, execvp, system, popen) use environ, where
// activate_view has put the view. A copy cannot be executed: its descriptor, or a link of
// procfs to one, is replaced by the origin's file. posix_spawn is in spawn_hooks.cc.
//
// May run in a vfork child: it writes only the stack and the pages that view_environment.h
// describes.
#include <stdarg.h>

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/copy_origin.h"
#include "preload/process/view_environment.h"

namespace raw = zazen::raw;
using zazen::real::late;
using zazen::real::next;

namespace {

bool is_script(int fd) {
  char start[2];
  return zazen::raw_read_at(fd, start, sizeof start, 0) == sizeof start &&
         std::memcmp(start, "#!", sizeof start) == 0;
}

// Opens the origin's file to execute, or returns -1: fd is no copy's, or the origin is gone. A
// script's interpreter opens the script again by this number, so the descriptor stays open if
// the program's own would. It gets a high number.
[[gnu::noinline]] int open_to_run(int fd) {
  constexpr int kHigh = 100;
  zazen::CopyOrigin origin;
  if (!zazen::find_origin(fd, &origin)) return -1;
  zazen::RawFd file(zazen::open_origin(origin));
  if (!file.valid()) return -1;
  bool stays = (zazen::raw_call(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC) == 0;
  if (stays && is_script(file.get())) {
    long high = zazen::raw_call(SYS_fcntl, file.get(), F_DUPFD, kHigh);
    if (high >= 0) return static_cast<int>(high);
  }
  return file.release();
}

// forward(fd)
template <class Forward>
int run_open(int fd, Forward forward) {
  zazen::RawFd file(open_to_run(fd));
  return forward(file.valid() ? file.get() : fd);
}

}  // namespace

ZAZEN_HOOK int execve(const char* path, char* const argv[], char* const envp[]) {
  ZAZEN_WITH_VIEW(envp)
  return zazen::ask_path(
      AT_FDCWD, path, [&](const char* file) { return ZAZEN_CALL(execve, file, argv, envp); });
}

ZAZEN_HOOK int execvpe(const char* file, char* const argv[], char* const envp[]) {
  ZAZEN_WITH_VIEW(envp)
  return late(next.execvpe)(file, argv, envp);
}

ZAZEN_HOOK int fexecve(int fd, char* const argv[], char* const envp[]) {
  ZAZEN_WITH_VIEW(envp)
  return run_open(fd, [&](int file) {
    return ZAZEN_FORWARD(fexecve, (file, argv, envp),
                         raw::execveat(file, "", argv, envp, AT_EMPTY_PATH));
  });
}

ZAZEN_HOOK int execveat(int dirfd, const char* path, char* const argv[], char* const envp[],
                        int flags) {
  ZAZEN_WITH_VIEW(envp)
  auto forward = [&](int directory, const char* file) {
    return ZAZEN_CALL(execveat, directory, file, argv, envp, flags);
  };
  if ((flags & AT_EMPTY_PATH) != 0 && zazen::is_empty_string(path)) {
    return run_open(dirfd, [&](int fd) { return forward(fd, path); });
  }
  if ((flags & AT_SYMLINK_NOFOLLOW) != 0) return forward(dirfd, path);
  return zazen::ask_path(dirfd, path, [&](const char* file) { return forward(dirfd, file); });
}

// The arguments up to the null pointer, then the environment.
ZAZEN_HOOK int execle(const char* path, const char* argument, ...) {
  va_list arguments;
  std::size_t count = 2;  // the first one and the null pointer
  va_start(arguments, argument);
  while (va_arg(arguments, char*) != nullptr) ++count;
  char* const* envp = va_arg(arguments, char* const*);
  va_end(arguments);

  char** argv = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  argv[0] = const_cast<char*>(argument);
  va_start(arguments, argument);
  for (std::size_t i = 1; i < count; ++i) argv[i] = va_arg(arguments, char*);
  va_end(arguments);
  return execve(path, argv, envp);
}
