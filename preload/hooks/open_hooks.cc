// open and its variants. The 64-bit forms are the same call on this machine. Each hook forwards
// to its own name, because a library preloaded after us may hook only that one.
#include "preload/calls/hook.h"
#include "preload/calls/mode_argument.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/open_frame.h"

namespace raw = zazen::raw;

ZAZEN_HOOK int open(const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(open, (name, flags, mode), raw::openat(AT_FDCWD, name, flags, mode));
  });
}

ZAZEN_HOOK int open64(const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(open64, (name, flags, mode), raw::openat(AT_FDCWD, name, flags, mode));
  });
}

// libc's own names for the two, which it exports as well.
ZAZEN_HOOK int __open(const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__open, (name, flags, mode), raw::openat(AT_FDCWD, name, flags, mode));
  });
}

ZAZEN_HOOK int __open64(const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(__open64, (name, flags, mode),
                         raw::openat(AT_FDCWD, name, flags, mode));
  });
}

ZAZEN_HOOK int openat(int dirfd, const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(openat, (dirfd, name, flags, mode),
                         raw::openat(dirfd, name, flags, mode));
  });
}

ZAZEN_HOOK int openat64(int dirfd, const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return zazen::open_frame(dirfd, path, flags, [&](const char* name) {
    return ZAZEN_FORWARD(openat64, (dirfd, name, flags, mode),
                         raw::openat(dirfd, name, flags, mode));
  });
}

ZAZEN_HOOK int creat(const char* path, mode_t mode) {
  return zazen::open_frame(AT_FDCWD, path, zazen::kCreatFlags, [&](const char* name) {
    return ZAZEN_FORWARD(creat, (name, mode),
                         raw::openat(AT_FDCWD, name, zazen::kCreatFlags, mode));
  });
}

ZAZEN_HOOK int creat64(const char* path, mode_t mode) {
  return zazen::open_frame(AT_FDCWD, path, zazen::kCreatFlags, [&](const char* name) {
    return ZAZEN_FORWARD(creat64, (name, mode),
                         raw::openat(AT_FDCWD, name, zazen::kCreatFlags, mode));
  });
}

// Called by programs built with _FORTIFY_SOURCE.
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
