// chmod and chown, by name and by descriptor. They change the origin; an existing copy then has
// the old mode or owner and is stale.
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

ZAZEN_HOOK int chmod(const char* path, mode_t mode) {
  return change_followed(AT_FDCWD, path,
                         [&](const char* name) { return ZAZEN_CALL(chmod, name, mode); });
}

ZAZEN_HOOK int fchmodat(int dirfd, const char* path, mode_t mode, int flags) {
  return change_at(dirfd, path, flags, [&](int directory, const char* name) {
    return late(next.fchmodat)(directory, name, mode, flags);
  });
}

ZAZEN_HOOK int lchmod(const char* path, mode_t mode) {
  return change_frame(AT_FDCWD, path, [&] { return late(next.lchmod)(path, mode); });
}

ZAZEN_HOOK int fchmod(int fd, mode_t mode) {
  return change_open(fd, [&](int file) { return ZAZEN_CALL(fchmod, file, mode); });
}

ZAZEN_HOOK int chown(const char* path, uid_t owner, gid_t group) {
  return change_followed(
      AT_FDCWD, path, [&](const char* name) { return ZAZEN_CALL(chown, name, owner, group); });
}

ZAZEN_HOOK int lchown(const char* path, uid_t owner, gid_t group) {
  return change_frame(AT_FDCWD, path, [&] { return ZAZEN_CALL(lchown, path, owner, group); });
}

ZAZEN_HOOK int fchownat(int dirfd, const char* path, uid_t owner, gid_t group, int flags) {
  return change_at(dirfd, path, flags, [&](int directory, const char* name) {
    return ZAZEN_CALL(fchownat, directory, name, owner, group, flags);
  });
}

ZAZEN_HOOK int fchown(int fd, uid_t owner, gid_t group) {
  return change_open(fd, [&](int file) { return ZAZEN_CALL(fchown, file, owner, group); });
}
