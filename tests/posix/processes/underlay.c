/* Another preloaded library: its open and openat are written on top of syscall(), and before a
   program is spawned it removes the file that UNDERLAY_REMOVES names, or puts the one that
   UNDERLAY_RESTORES names back, from a second name of it. */
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "check.h"

static mode_t mode_of(va_list arguments, int flags) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(arguments, flags);
  va_end(arguments);
  return (int)syscall(SYS_open, path, flags, mode);
}

int openat(int dirfd, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(arguments, flags);
  va_end(arguments);
  return (int)syscall(SYS_openat, dirfd, path, flags, mode);
}

typedef int Spawn(pid_t*, const char*, const posix_spawn_file_actions_t*,
                  const posix_spawnattr_t*, char* const[], char* const[]);

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {
  const char* victim = getenv("UNDERLAY_REMOVES");
  if (victim != NULL) syscall(SYS_unlink, victim);
  const char* restored = getenv("UNDERLAY_RESTORES");
  if (restored != NULL) {
    char saved[4096];
    snprintf(saved, sizeof saved, "%s.saved", restored);
    syscall(SYS_rename, saved, restored);
  }
  Spawn* next = (Spawn*)dlsym(RTLD_NEXT, "posix_spawn");
  return next(pid, path, actions, attributes, argv, envp);
}
