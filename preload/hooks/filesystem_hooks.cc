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

namespace {

template <class Forward>
int ask_path(const char* path, Forward forward) {
  if (zazen::descriptor_link(path) == nullptr) [[likely]]
    return forward(path);
  zazen::FollowedLink link(AT_FDCWD, path);
  return forward(link.path_to_ask());
}

}  // namespace

ZAZEN_HOOK int statfs(const char* path, struct statfs* out) {
  return ask_path(path, [&](const char* name) {
    return ZAZEN_FORWARD(statfs, (name, out), raw::status(SYS_statfs, name, out));
  });
}

ZAZEN_HOOK int statfs64(const char* path, struct statfs64* out) {
  return ask_path(path, [&](const char* name) {
    return ZAZEN_FORWARD(statfs64, (name, out), raw::status(SYS_statfs, name, out));
  });
}

ZAZEN_HOOK int fstatfs(int fd, struct statfs* out) {
  return zazen::ask_open(fd, [&](int file) {
    return ZAZEN_FORWARD(fstatfs, (file, out), raw::status(SYS_fstatfs, file, out));
  });
}

ZAZEN_HOOK int fstatfs64(int fd, struct statfs64* out) {
  return zazen::ask_open(fd, [&](int file) {
    return ZAZEN_FORWARD(fstatfs64, (file, out), raw::status(SYS_fstatfs, file, out));
  });
}

ZAZEN_HOOK int statvfs(const char* path, struct statvfs* out) {
  return ask_path(path, [&](const char* name) { return late(next.statvfs)(name, out); });
}

ZAZEN_HOOK int statvfs64(const char* path, struct statvfs64* out) {
  return ask_path(path, [&](const char* name) { return late(next.statvfs64)(name, out); });
}

ZAZEN_HOOK int fstatvfs(int fd, struct statvfs* out) {
  return zazen::ask_open(fd, [&](int file) { return late(next.fstatvfs)(file, out); });
}

ZAZEN_HOOK int fstatvfs64(int fd, struct statvfs64* out) {
  return zazen::ask_open(fd, [&](int file) { return late(next.fstatvfs64)(file, out); });
}
