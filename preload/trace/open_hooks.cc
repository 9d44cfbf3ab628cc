// open and its variants, as in preload/hooks/open_hooks.cc. A failed open is not counted.
#include "preload/calls/mode_argument.h"
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

ZAZEN_HOOK int open(const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(open, (path, flags, mode), raw::openat(AT_FDCWD, path, flags, mode));
  });
}

ZAZEN_HOOK int open64(const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(open64, (path, flags, mode), raw::openat(AT_FDCWD, path, flags, mode));
  });
}

ZAZEN_HOOK int openat(int directory, const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(openat, (directory, path, flags, mode),
                      raw::openat(directory, path, flags, mode));
  });
}

ZAZEN_HOOK int openat64(int directory, const char* path, int flags, ...) {
  ZAZEN_MODE_ARGUMENT(mode, flags)
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(openat64, (directory, path, flags, mode),
                      raw::openat(directory, path, flags, mode));
  });
}

ZAZEN_HOOK int __open_2(const char* path, int flags) {
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(__open_2, (path, flags), raw::openat(AT_FDCWD, path, flags, 0));
  });
}

ZAZEN_HOOK int __open64_2(const char* path, int flags) {
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(__open64_2, (path, flags), raw::openat(AT_FDCWD, path, flags, 0));
  });
}

ZAZEN_HOOK int __openat_2(int directory, const char* path, int flags) {
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(__openat_2, (directory, path, flags),
                      raw::openat(directory, path, flags, 0));
  });
}

ZAZEN_HOOK int __openat64_2(int directory, const char* path, int flags) {
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(__openat64_2, (directory, path, flags),
                      raw::openat(directory, path, flags, 0));
  });
}

ZAZEN_HOOK int creat(const char* path, mode_t mode) {
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(creat, (path, mode),
                      raw::openat(AT_FDCWD, path, zazen::kCreatFlags, mode));
  });
}

ZAZEN_HOOK int creat64(const char* path, mode_t mode) {
  return traced_open(ZAZEN_CALLER, [&] {
    return ZAZEN_NEXT(creat64, (path, mode),
                      raw::openat(AT_FDCWD, path, zazen::kCreatFlags, mode));
  });
}
