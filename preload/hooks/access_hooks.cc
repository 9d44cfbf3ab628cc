// access and related calls. A copy that can be read answers for existence and reading. The
// origin decides whether a frame may be written or executed. This also holds for an open copy
// that a link of procfs or, with AT_EMPTY_PATH, its descriptor names.
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_origin.h"

namespace raw = zazen::raw;

namespace {

template <class Forward>
int access_frame(int dirfd, const char* path, int mode, int flags, Forward forward) {
  if ((flags & ~AT_EACCESS) == 0 && zazen::descriptor_link(path) != nullptr) [[unlikely]]
    return zazen::ask_behind_link(dirfd, path, forward);
  if ((mode & ~R_OK) != 0 || (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW)) != 0) {
    return forward(path);
  }
  zazen::Route route = zazen::route_for(dirfd, path);
  if (!route) [[likely]]
    return forward(path);
  if (zazen::copy_is_readable(route, flags)) return 0;
  return forward(path);
}

}  // namespace

ZAZEN_HOOK int access(const char* path, int mode) {
  return access_frame(AT_FDCWD, path, mode, 0,
                      [&](const char* name) { return ZAZEN_CALL(access, name, mode); });
}

ZAZEN_HOOK int faccessat(int dirfd, const char* path, int mode, int flags) {
  auto forward = [&](int directory, const char* name) {
    return ZAZEN_FORWARD(faccessat, (directory, name, mode, flags),
                         raw::faccessat(directory, name, mode, flags));
  };
  if ((flags & AT_EMPTY_PATH) != 0 && zazen::is_empty_string(path)) {
    return zazen::ask_open(dirfd, [&](int fd) { return forward(fd, path); });
  }
  return access_frame(dirfd, path, mode, flags,
                      [&](const char* name) { return forward(dirfd, name); });
}

#define EACCESS_HOOK(name)                                                        \
  ZAZEN_HOOK int name(const char* path, int mode) {                               \
    return access_frame(AT_FDCWD, path, mode, AT_EACCESS, [&](const char* file) { \
      return ZAZEN_FORWARD(name, (file, mode),                                    \
                           raw::faccessat(AT_FDCWD, file, mode, AT_EACCESS));     \
    });                                                                           \
  }
EACCESS_HOOK(eaccess)
EACCESS_HOOK(euidaccess)
