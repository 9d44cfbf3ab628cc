// open and its spellings. The 64 forms are the same call on this machine; each forwards to
// its own name, because a library preloaded behind us may hook only that one.
#include <stdarg.h>

#include "preload/hook.h"
#include "preload/open_frame.h"
#include "preload/raw.h"
#include "preload/real.h"

namespace raw = zazen::raw;

namespace {

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
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(open, (name, flags, mode), raw::openat(AT_FDCWD, name, flags, mode));
  });
}

ZAZEN_HOOK int open64(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(open64, (name, flags, mode), raw::openat(AT_FDCWD, name, flags, mode));
  });
}

// libc's own names for the two, which it exports as well.
ZAZEN_HOOK int __open(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__open, (name, flags, mode), raw::openat(AT_FDCWD, name, flags, mode));
  });
}

ZAZEN_HOOK int __open64(const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__open64, (name, flags, mode),
                         raw::openat(AT_FDCWD, name, flags, mode));
  });
}

ZAZEN_HOOK int openat(int dirfd, const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(openat, (dirfd, name, flags, mode),
                         raw::openat(dirfd, name, flags, mode));
  });
}

ZAZEN_HOOK int openat64(int dirfd, const char* path, int flags, ...) {
  MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(openat64, (dirfd, name, flags, mode),
                         raw::openat(dirfd, name, flags, mode));
  });
}

ZAZEN_HOOK int creat(const char* path, mode_t mode) {
  return zazen::open_frame(AT_FDCWD, path, kCreatFlags, [&](const char* name) {
    return ZAZEN_FORWARD(creat, (name, mode), raw::openat(AT_FDCWD, name, kCreatFlags, mode));
  });
}

ZAZEN_HOOK int creat64(const char* path, mode_t mode) {
  return zazen::open_frame(AT_FDCWD, path, kCreatFlags, [&](const char* name) {
    return ZAZEN_FORWARD(creat64, (name, mode), raw::openat(AT_FDCWD, name, kCreatFlags, mode));
  });
}

// What a program built with _FORTIFY_SOURCE calls.
ZAZEN_HOOK int __open_2(const char* path, int flags) {
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__open_2, (name, flags), raw::openat(AT_FDCWD, name, flags, 0));
  });
}

ZAZEN_HOOK int __open64_2(const char* path, int flags) {
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__open64_2, (name, flags), raw::openat(AT_FDCWD, name, flags, 0));
  });
}

ZAZEN_HOOK int __openat_2(int dirfd, const char* path, int flags) {
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__openat_2, (dirfd, name, flags), raw::openat(dirfd, name, flags, 0));
  });
}

ZAZEN_HOOK int __openat64_2(int dirfd, const char* path, int flags) {
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__openat64_2, (dirfd, name, flags),
                         raw::openat(dirfd, name, flags, 0));
  });
}
