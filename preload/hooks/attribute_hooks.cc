// Extended attributes: those of the origin, never the copy's own (user.zazen). A frame's path
// leads to the origin anyway; a descriptor of a copy, and a link of procfs to one, is
// redirected. If the origin is gone, the attributes are unknown and none is shown.
#include <sys/xattr.h>

#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/frame_change.h"

namespace raw = zazen::raw;
using zazen::change_followed;
using zazen::change_frame;
using zazen::change_open;

namespace {

// forward(path), with the origin's path if the path is a link to an open copy.
template <class Forward>
ssize_t read_followed(const char* path, Forward forward) {
  if (zazen::descriptor_link(path) == nullptr) [[likely]]
    return forward(path);
  zazen::FollowedLink link(AT_FDCWD, path);
  return forward(link.path());
}

// forward(fd), with the origin's fd if fd is a copy's; gone() if the origin does not exist.
template <class Forward, class Gone>
[[gnu::noinline]] ssize_t read_origin(int fd, Forward forward, Gone gone) {
  zazen::CopyOrigin origin;
  if (!zazen::find_origin(fd, &origin)) return forward(fd);
  zazen::RawFd file(zazen::open_origin(origin));
  return file.valid() ? forward(file.get()) : gone();
}

template <class Forward, class Gone>
ssize_t read_open(int fd, Forward forward, Gone gone) {
  return zazen::may_be_copy(fd) ? read_origin(fd, forward, gone) : forward(fd);
}

}  // namespace

ZAZEN_HOOK ssize_t getxattr(const char* path, const char* name, void* value, size_t size) {
  return read_followed(
      path, [&](const char* file) { return ZAZEN_CALL(getxattr, file, name, value, size); });
}

ZAZEN_HOOK ssize_t fgetxattr(int fd, const char* name, void* value, size_t size) {
  auto forward = [&](int file) { return ZAZEN_CALL(fgetxattr, file, name, value, size); };
  return read_open(fd, forward, [] {
    errno = ENODATA;
    return ssize_t{-1};
  });
}

ZAZEN_HOOK ssize_t listxattr(const char* path, char* list, size_t size) {
  return read_followed(
      path, [&](const char* file) { return ZAZEN_CALL(listxattr, file, list, size); });
}

ZAZEN_HOOK ssize_t flistxattr(int fd, char* list, size_t size) {
  auto forward = [&](int file) { return ZAZEN_CALL(flistxattr, file, list, size); };
  return read_open(fd, forward, [] { return ssize_t{0}; });
}

ZAZEN_HOOK int setxattr(const char* path, const char* name, const void* value, size_t size,
                        int flags) {
  return change_followed(AT_FDCWD, path, [&](const char* file) {
    return ZAZEN_CALL(setxattr, file, name, value, size, flags);
  });
}

ZAZEN_HOOK int lsetxattr(const char* path, const char* name, const void* value, size_t size,
                         int flags) {
  return change_frame(AT_FDCWD, path,
                      [&] { return ZAZEN_CALL(lsetxattr, path, name, value, size, flags); });
}

ZAZEN_HOOK int fsetxattr(int fd, const char* name, const void* value, size_t size, int flags) {
  return change_open(
      fd, [&](int file) { return ZAZEN_CALL(fsetxattr, file, name, value, size, flags); });
}

ZAZEN_HOOK int removexattr(const char* path, const char* name) {
  return change_followed(AT_FDCWD, path,
                         [&](const char* file) { return ZAZEN_CALL(removexattr, file, name); });
}

ZAZEN_HOOK int lremovexattr(const char* path, const char* name) {
  return change_frame(AT_FDCWD, path, [&] { return ZAZEN_CALL(lremovexattr, path, name); });
}

ZAZEN_HOOK int fremovexattr(int fd, const char* name) {
  return change_open(fd, [&](int file) { return ZAZEN_CALL(fremovexattr, file, name); });
}
