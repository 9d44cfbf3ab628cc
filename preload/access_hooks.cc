// access and its kin: a copy that can be read answers for existence and reading. Whether a
// frame may be written or executed is the origin's to say.
#include "preload/cached_copy.h"
#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/real.h"

namespace raw = zazen::raw;

namespace {

template <class Forward>
int access_frame(int dirfd, const char* path, int mode, int flags, Forward forward) {
  if ((mode & ~R_OK) != 0 || (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW)) != 0) {
    return forward();
  }
  zazen::Route route = zazen::route_for(dirfd, path);
  if (!route) [[likely]]
    return forward();
  if (zazen::copy_is_readable(route, flags)) return 0;
  return forward();
}

}  // namespace

ZAZEN_HOOK int access(const char* path, int mode) {
  return access_frame(AT_FDCWD, path, mode, 0, [&] {
    return ZAZEN_FORWARD(access, (path, mode), raw::faccessat(AT_FDCWD, path, mode, 0));
  });
}

ZAZEN_HOOK int faccessat(int dirfd, const char* path, int mode, int flags) {
  return access_frame(dirfd, path, mode, flags, [&] {
    return ZAZEN_FORWARD(faccessat, (dirfd, path, mode, flags),
                         raw::faccessat(dirfd, path, mode, flags));
  });
}

ZAZEN_HOOK int eaccess(const char* path, int mode) {
  return access_frame(AT_FDCWD, path, mode, AT_EACCESS, [&] {
    return ZAZEN_FORWARD(eaccess, (path, mode),
                         raw::faccessat(AT_FDCWD, path, mode, AT_EACCESS));
  });
}

ZAZEN_HOOK int euidaccess(const char* path, int mode) {
  return access_frame(AT_FDCWD, path, mode, AT_EACCESS, [&] {
    return ZAZEN_FORWARD(euidaccess, (path, mode),
                         raw::faccessat(AT_FDCWD, path, mode, AT_EACCESS));
  });
}
