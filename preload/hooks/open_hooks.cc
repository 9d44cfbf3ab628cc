// open and its variants. The 64-bit forms are the same call on this machine. Each hook forwards
// to its own name, because a library preloaded after us may hook only that one.
#include "preload/calls/hook.h"
#include "preload/calls/open_flags.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/open_frame.h"

namespace raw = zazen::raw;

#define OPEN_HOOK(name)                                                     \
  ZAZEN_HOOK int name(const char* path, int flags, ...) {                   \
    ZAZEN_MODE_ARGUMENT(mode, flags)                                        \
    return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* file) { \
      return ZAZEN_FORWARD(name, (file, flags, mode),                       \
                           raw::openat(AT_FDCWD, file, flags, mode));       \
    });                                                                     \
  }
OPEN_HOOK(open)
OPEN_HOOK(open64)
OPEN_HOOK(__open)  // libc's own names for the two, which it exports as well
OPEN_HOOK(__open64)

#define OPENAT_HOOK(name)                                                \
  ZAZEN_HOOK int name(int dirfd, const char* path, int flags, ...) {     \
    ZAZEN_MODE_ARGUMENT(mode, flags)                                     \
    return zazen::open_frame(dirfd, path, flags, [&](const char* file) { \
      return ZAZEN_FORWARD(name, (dirfd, file, flags, mode),             \
                           raw::openat(dirfd, file, flags, mode));       \
    });                                                                  \
  }
OPENAT_HOOK(openat)
OPENAT_HOOK(openat64)

#define CREAT_HOOK(name)                                                                 \
  ZAZEN_HOOK int name(const char* path, mode_t mode) {                                   \
    return zazen::open_frame(AT_FDCWD, path, zazen::kCreatFlags, [&](const char* file) { \
      return ZAZEN_FORWARD(name, (file, mode),                                           \
                           raw::openat(AT_FDCWD, file, zazen::kCreatFlags, mode));       \
    });                                                                                  \
  }
CREAT_HOOK(creat)
CREAT_HOOK(creat64)

// Called by programs built with _FORTIFY_SOURCE.
#define OPEN_2_HOOK(name)                                                               \
  ZAZEN_HOOK int name(const char* path, int flags) {                                    \
    return zazen::open_frame(AT_FDCWD, path, flags, [&](const char* file) {             \
      return ZAZEN_FORWARD(name, (file, flags), raw::openat(AT_FDCWD, file, flags, 0)); \
    });                                                                                 \
  }
OPEN_2_HOOK(__open_2)
OPEN_2_HOOK(__open64_2)

#define OPENAT_2_HOOK(name)                                                                 \
  ZAZEN_HOOK int name(int dirfd, const char* path, int flags) {                             \
    return zazen::open_frame(dirfd, path, flags, [&](const char* file) {                    \
      return ZAZEN_FORWARD(name, (dirfd, file, flags), raw::openat(dirfd, file, flags, 0)); \
    });                                                                                     \
  }
OPENAT_2_HOOK(__openat_2)
OPENAT_2_HOOK(__openat64_2)
