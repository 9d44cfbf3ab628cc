// open and its spellings. The 64 forms are the same call on this machine; each forwards to
// its own name, because a library preloaded behind us may hook only that one.
#include <stdarg.h>

#include "preload/cached_copy.h"
#include "preload/hook.h"
#include "preload/origin_open.h"
#include "preload/raw.h"
#include "preload/real.h"

namespace raw = zazen::raw;

namespace {

template <class Forward>
int open_frame(int dirfd, const char* path, int flags, Forward forward) {
  zazen::Route route = zazen::route_for(dirfd, path);
  if (!route) [[likely]]
    return forward();
  if (int fd = zazen::open_copy(route, flags); fd >= 0) return fd;
  zazen::Change change(route, flags);
  return zazen::origin_opened(route, flags, change.done(forward()));
}

constexpr int kCreatFlags = O_CREAT | O_WRONLY | O_TRUNC;

bool has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

// The third argument of open is there only if the flags want it.
#define MODE_ARGUMENT(mode, flags)    \
  mode_t mode = 0;                    \
  if (has_mode(flags)) {              \
    va_list arguments;                \
    va_start(arguments, flags);       \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

ZAZEN_HOOK int open(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return open_frame(AT_FDCWD, path, flags, [&] {
    return ZAZEN_FORWARD(open, (path, flags, mode), raw::openat(AT_FDCWD, path, flags, mode));
  });
}

ZAZEN_HOOK int open64(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return open_frame(AT_FDCWD, path, flags, [&] {
    return ZAZEN_FORWARD(open64, (path, flags, mode), raw::openat(AT_FDCWD, path, flags, mode));
  });
}

// libc's own names for the two, which it exports as well.
ZAZEN_HOOK int __open(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return open_frame(AT_FDCWD, path, flags, [&] {
    return ZAZEN_FORWARD(__open, (path, flags, mode), raw::openat(AT_FDCWD, path, flags, mode));
  });
}

ZAZEN_HOOK int __open64(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return open_frame(AT_FDCWD, path, flags, [&] {
    return ZAZEN_FORWARD(__open64, (path, flags, mode),
                         raw::openat(AT_FDCWD, path, flags, mode));
  });
}

ZAZEN_HOOK int openat(int dirfd, const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return open_frame(dirfd, path, flags, [&] {
    return ZAZEN_FORWARD(openat, (dirfd, path, flags, mode),
                         raw::openat(dirfd, path, flags, mode));
  });
}

ZAZEN_HOOK int openat64(int dirfd, const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return open_frame(dirfd, path, flags, [&] {
    return ZAZEN_FORWARD(openat64, (dirfd, path, flags, mode),
                         raw::openat(dirfd, path, flags, mode));
  });
}

ZAZEN_HOOK int creat(const char* path, mode_t mode) {
  return open_frame(AT_FDCWD, path, kCreatFlags, [&] {
    return ZAZEN_FORWARD(creat, (path, mode), raw::openat(AT_FDCWD, path, kCreatFlags, mode));
  });
}

ZAZEN_HOOK int creat64(const char* path, mode_t mode) {
  return open_frame(AT_FDCWD, path, kCreatFlags, [&] {
    return ZAZEN_FORWARD(creat64, (path, mode), raw::openat(AT_FDCWD, path, kCreatFlags, mode));
  });
}

// What a program built with _FORTIFY_SOURCE calls.
ZAZEN_HOOK int __open_2(const char* path, int flags) {
  return open_frame(AT_FDCWD, path, flags, [&] {
    return ZAZEN_FORWARD(__open_2, (path, flags), raw::openat(AT_FDCWD, path, flags, 0));
  });
}

ZAZEN_HOOK int __open64_2(const char* path, int flags) {
  return open_frame(AT_FDCWD, path, flags, [&] {
    return ZAZEN_FORWARD(__open64_2, (path, flags), raw::openat(AT_FDCWD, path, flags, 0));
  });
}

ZAZEN_HOOK int __openat_2(int dirfd, const char* path, int flags) {
  return open_frame(dirfd, path, flags, [&] {
    return ZAZEN_FORWARD(__openat_2, (dirfd, path, flags), raw::openat(dirfd, path, flags, 0));
  });
}

ZAZEN_HOOK int __openat64_2(int dirfd, const char* path, int flags) {
  return open_frame(dirfd, path, flags, [&] {
    return ZAZEN_FORWARD(__openat64_2, (dirfd, path, flags),
                         raw::openat(dirfd, path, flags, 0));
  });
}
