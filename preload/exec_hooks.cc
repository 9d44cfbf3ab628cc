// The exec calls that take an environment: a rank's view goes with it (view_environment.h). The
// forms without one (execv, execvp, system, popen) use environ, where activate_view has put it.
// posix_spawn is in spawn_hooks.cc.
//
// May run in a vfork child: nothing but the stack is written.
#include <stdarg.h>

#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/real.h"
#include "preload/view_environment.h"

using zazen::real::late;
using zazen::real::next;

ZAZEN_HOOK int execve(const char* path, char* const argv[], char* const envp[]) {
  ZAZEN_WITH_VIEW(envp)
  return ZAZEN_FORWARD(execve, (path, argv, envp),
                       zazen::raw::execveat(AT_FDCWD, path, argv, envp, 0));
}

ZAZEN_HOOK int execvpe(const char* file, char* const argv[], char* const envp[]) {
  ZAZEN_WITH_VIEW(envp)
  return late(next.execvpe)(file, argv, envp);
}

ZAZEN_HOOK int fexecve(int fd, char* const argv[], char* const envp[]) {
  ZAZEN_WITH_VIEW(envp)
  return ZAZEN_FORWARD(fexecve, (fd, argv, envp),
                       zazen::raw::execveat(fd, "", argv, envp, AT_EMPTY_PATH));
}

ZAZEN_HOOK int execveat(int dirfd, const char* path, char* const argv[], char* const envp[],
                        int flags) {
  ZAZEN_WITH_VIEW(envp)
  return ZAZEN_FORWARD(execveat, (dirfd, path, argv, envp, flags),
                       zazen::raw::execveat(dirfd, path, argv, envp, flags));
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
