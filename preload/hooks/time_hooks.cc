// The calls that set a file's times, by name and by descriptor: as mode_hooks.cc.
#include <sys/time.h>
#include <utime.h>

#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/frame_change.h"

namespace raw = zazen::raw;
using zazen::change_at;
using zazen::change_followed;
using zazen::change_frame;
using zazen::change_open;
using zazen::real::late;
using zazen::real::next;

ZAZEN_HOOK int utime(const char* path, const struct utimbuf* times) {
  return change_followed(AT_FDCWD, path,
                         [&](const char* name) { return ZAZEN_CALL(utime, name, times); });
}

ZAZEN_HOOK int utimes(const char* path, const struct timeval times[2]) {
  return change_followed(AT_FDCWD, path,
                         [&](const char* name) { return ZAZEN_CALL(utimes, name, times); });
}

ZAZEN_HOOK int lutimes(const char* path, const struct timeval times[2]) {
  return change_frame(AT_FDCWD, path, [&] { return late(next.lutimes)(path, times); });
}

ZAZEN_HOOK int futimes(int fd, const struct timeval times[2]) {
  return change_open(fd, [&](int file) { return late(next.futimes)(file, times); });
}

// Without a path it is futimes.
ZAZEN_HOOK int futimesat(int dirfd, const char* path, const struct timeval times[2]) {
  auto forward = [&](int directory, const char* name) {
    return ZAZEN_CALL(futimesat, directory, name, times);
  };
  if (zazen::unpromised(path) == nullptr) {
    return change_open(dirfd, [&](int file) { return forward(file, nullptr); });
  }
  return change_at(dirfd, path, 0, forward);
}

ZAZEN_HOOK int utimensat(int dirfd, const char* path, const struct timespec times[2],
                         int flags) {
  return change_at(dirfd, path, flags, [&](int directory, const char* name) {
    return ZAZEN_CALL(utimensat, directory, name, times, flags);
  });
}

ZAZEN_HOOK int futimens(int fd, const struct timespec times[2]) {
  return change_open(fd, [&](int file) {
    return ZAZEN_FORWARD(futimens, (file, times),
                         raw::status(SYS_utimensat, file, nullptr, times, 0));
  });
}
