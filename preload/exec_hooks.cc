// The exec calls that take an environment: a rank's view goes with it, so that a program that
// a rank starts sees the same listing (D13). The forms without one (execv, execvp, system,
// popen) use environ, where activate_view has put it.
//
// May run in a vfork child: nothing but the stack is written. An environment that names a
// view already, or is empty, is left alone.
#include <stdarg.h>

#include <cstring>

#include "preload/current_view.h"
#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/real.h"

namespace {

constexpr std::size_t kMaxVariables = 100'000;

// Pointers that the environment takes with the view in it; 0 if it stays as it is.
std::size_t room_for_view(char* const* environment) {
  if (zazen::current_view() == nullptr || environment == nullptr) return 0;
  constexpr std::size_t kNameLength = sizeof zazen::kViewVariable - 1;
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (std::strncmp(environment[count], zazen::kViewVariable, kNameLength) == 0 &&
        environment[count][kNameLength] == '=') {
      return 0;
    }
  }
  return count == 0 || count > kMaxVariables ? 0 : count + 2;
}

char* const* add_view(char* const* environment, std::size_t room, char** out) {
  std::memcpy(out, environment, (room - 2) * sizeof(char*));
  out[room - 2] = const_cast<char*>(zazen::current_view()->variable);
  out[room - 1] = nullptr;
  return out;
}

}  // namespace

using zazen::real::late;
using zazen::real::next;

#define WITH_VIEW(environment)                                                   \
  std::size_t room = room_for_view(environment);                                 \
  if (room != 0) {                                                               \
    char** longer = static_cast<char**>(__builtin_alloca(room * sizeof(char*))); \
    environment = const_cast<char**>(add_view(environment, room, longer));       \
  }

ZAZEN_HOOK int execve(const char* path, char* const argv[], char* const envp[]) {
  WITH_VIEW(envp)
  return ZAZEN_FORWARD(execve, (path, argv, envp),
                       zazen::raw::execveat(AT_FDCWD, path, argv, envp, 0));
}

ZAZEN_HOOK int execvpe(const char* file, char* const argv[], char* const envp[]) {
  WITH_VIEW(envp)
  return late(next.execvpe)(file, argv, envp);
}

ZAZEN_HOOK int fexecve(int fd, char* const argv[], char* const envp[]) {
  WITH_VIEW(envp)
  return ZAZEN_FORWARD(fexecve, (fd, argv, envp),
                       zazen::raw::execveat(fd, "", argv, envp, AT_EMPTY_PATH));
}

ZAZEN_HOOK int execveat(int dirfd, const char* path, char* const argv[], char* const envp[],
                        int flags) {
  WITH_VIEW(envp)
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

ZAZEN_HOOK int posix_spawn(pid_t* pid, const char* path,
                           const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const argv[],
                           char* const envp[]) {
  WITH_VIEW(envp)
  return late(next.posix_spawn)(pid, path, actions, attributes, argv, envp);
}

ZAZEN_HOOK int posix_spawnp(pid_t* pid, const char* file,
                            const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const envp[]) {
  WITH_VIEW(envp)
  return late(next.posix_spawnp)(pid, file, actions, attributes, argv, envp);
}
