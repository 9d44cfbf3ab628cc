// statfs and statvfs show the file system of the origin, also for an open copy and for a link
// of procfs to one. If the origin is gone, they show the cache's.
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/copy_origin.h"

namespace raw = zazen::raw;
using zazen::real::late;
using zazen::real::next;

#define STATFS_HOOKS(name, fname)                                                    \
  ZAZEN_HOOK int name(const char* path, struct name* out) {                          \
    return zazen::ask_path(AT_FDCWD, path, [&](const char* file) {                   \
      return ZAZEN_FORWARD(name, (file, out), raw::status(SYS_statfs, file, out));   \
    });                                                                              \
  }                                                                                  \
  ZAZEN_HOOK int fname(int fd, struct name* out) {                                   \
    return zazen::ask_open(fd, [&](int file) {                                       \
      return ZAZEN_FORWARD(fname, (file, out), raw::status(SYS_fstatfs, file, out)); \
    });                                                                              \
  }
STATFS_HOOKS(statfs, fstatfs)
STATFS_HOOKS(statfs64, fstatfs64)

#define STATVFS_HOOKS(name, fname)                                                        \
  ZAZEN_HOOK int name(const char* path, struct name* out) {                               \
    return zazen::ask_path(AT_FDCWD, path,                                                \
                           [&](const char* file) { return late(next.name)(file, out); }); \
  }                                                                                       \
  ZAZEN_HOOK int fname(int fd, struct name* out) {                                        \
    return zazen::ask_open(fd, [&](int file) { return late(next.fname)(file, out); });    \
  }
STATVFS_HOOKS(statvfs, fstatvfs)
STATVFS_HOOKS(statvfs64, fstatvfs64)
