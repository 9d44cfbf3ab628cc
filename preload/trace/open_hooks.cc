// open and its variants, as in preload/hooks/open_hooks.cc. A failed open is not counted.
#include "preload/calls/open_flags.h"
#include "preload/trace/next.h"
#include "preload/trace/record.h"

namespace raw = zazen::raw;

namespace {

template <class Call>
int traced_open(const void* caller, Call call) {
  return zazen::trace::measured(
      [&] {
        zazen::trace::forget_last_open();
        return call();
      },
      [&](int fd, std::uint64_t nanoseconds) {
        if (fd >= 0) zazen::trace::record_open(fd, nanoseconds, caller);
      });
}

}  // namespace

#define OPEN_HOOK(name)                                                                       \
  ZAZEN_HOOK int name(const char* path, int flags, ...) {                                     \
    ZAZEN_MODE_ARGUMENT(mode, flags)                                                          \
    return traced_open(ZAZEN_CALLER, [&] {                                                    \
      return ZAZEN_NEXT(name, (path, flags, mode), raw::openat(AT_FDCWD, path, flags, mode)); \
    });                                                                                       \
  }
#define OPENAT_HOOK(name)                                                \
  ZAZEN_HOOK int name(int directory, const char* path, int flags, ...) { \
    ZAZEN_MODE_ARGUMENT(mode, flags)                                     \
    return traced_open(ZAZEN_CALLER, [&] {                               \
      return ZAZEN_NEXT(name, (directory, path, flags, mode),            \
                        raw::openat(directory, path, flags, mode));      \
    });                                                                  \
  }
#define CREAT_HOOK(name)                                                        \
  ZAZEN_HOOK int name(const char* path, mode_t mode) {                          \
    return traced_open(ZAZEN_CALLER, [&] {                                      \
      return ZAZEN_NEXT(name, (path, mode),                                     \
                        raw::openat(AT_FDCWD, path, zazen::kCreatFlags, mode)); \
    });                                                                         \
  }

OPEN_HOOK(open)
OPEN_HOOK(open64)
OPENAT_HOOK(openat)
OPENAT_HOOK(openat64)
CREAT_HOOK(creat)
CREAT_HOOK(creat64)

#define OPEN_2_HOOK(name)                                                            \
  ZAZEN_HOOK int name(const char* path, int flags) {                                 \
    return traced_open(ZAZEN_CALLER, [&] {                                           \
      return ZAZEN_NEXT(name, (path, flags), raw::openat(AT_FDCWD, path, flags, 0)); \
    });                                                                              \
  }
#define OPENAT_2_HOOK(name)                                         \
  ZAZEN_HOOK int name(int directory, const char* path, int flags) { \
    return traced_open(ZAZEN_CALLER, [&] {                          \
      return ZAZEN_NEXT(name, (directory, path, flags),             \
                        raw::openat(directory, path, flags, 0));    \
    });                                                             \
  }

OPEN_2_HOOK(__open_2)
OPEN_2_HOOK(__open64_2)
OPENAT_2_HOOK(__openat_2)
OPENAT_2_HOOK(__openat64_2)
