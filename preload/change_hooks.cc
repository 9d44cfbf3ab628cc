// The calls that change a frame by its name. The copy goes first, so that nobody reads it as
// current; it goes again afterwards, because a fill of the old content may have been under
// way.
#include "preload/hook.h"
#include "preload/node.h"
#include "preload/origin_open.h"
#include "preload/raw.h"
#include "preload/real.h"

namespace raw = zazen::raw;

namespace {

template <class Forward>
int change_frame(int dirfd, const char* path, Forward forward) {
  zazen::Route route = zazen::route_for(dirfd, path);
  if (!route) [[likely]]
    return forward();
  zazen::Change change(route);
  return change.done(forward());
}

template <class Forward>
int change_two(int from, const char* old_path, int to, const char* new_path, Forward forward) {
  int result =
      change_frame(from, old_path, [&] { return change_frame(to, new_path, forward); });
  if (result == 0) zazen::look_again();  // it may have been a dataset's directory
  return result;
}

// remove(3) is unlink for a file and rmdir for a directory.
int raw_remove(const char* path) {
  int result = raw::unlinkat(AT_FDCWD, path, 0);
  if (result != 0 && errno == EISDIR) result = raw::unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
  return result;
}

}  // namespace

ZAZEN_HOOK int unlink(const char* path) {
  return change_frame(AT_FDCWD, path, [&] {
    return ZAZEN_FORWARD(unlink, (path), raw::unlinkat(AT_FDCWD, path, 0));
  });
}

ZAZEN_HOOK int unlinkat(int dirfd, const char* path, int flags) {
  return change_frame(dirfd, path, [&] {
    return ZAZEN_FORWARD(unlinkat, (dirfd, path, flags), raw::unlinkat(dirfd, path, flags));
  });
}

ZAZEN_HOOK int remove(const char* path) {
  return change_frame(AT_FDCWD, path,
                      [&] { return ZAZEN_FORWARD(remove, (path), raw_remove(path)); });
}

ZAZEN_HOOK int rename(const char* old_path, const char* new_path) {
  return change_two(AT_FDCWD, old_path, AT_FDCWD, new_path, [&] {
    return ZAZEN_FORWARD(rename, (old_path, new_path),
                         raw::renameat2(AT_FDCWD, old_path, AT_FDCWD, new_path, 0));
  });
}

ZAZEN_HOOK int renameat(int from, const char* old_path, int to, const char* new_path) {
  return change_two(from, old_path, to, new_path, [&] {
    return ZAZEN_FORWARD(renameat, (from, old_path, to, new_path),
                         raw::renameat2(from, old_path, to, new_path, 0));
  });
}

ZAZEN_HOOK int renameat2(int from, const char* old_path, int to, const char* new_path,
                         unsigned flags) {
  return change_two(from, old_path, to, new_path, [&] {
    return ZAZEN_FORWARD(renameat2, (from, old_path, to, new_path, flags),
                         raw::renameat2(from, old_path, to, new_path, flags));
  });
}

ZAZEN_HOOK int truncate(const char* path, off_t length) {
  return change_frame(AT_FDCWD, path, [&] {
    return ZAZEN_FORWARD(truncate, (path, length), raw::truncate(path, length));
  });
}

ZAZEN_HOOK int truncate64(const char* path, off64_t length) {
  return change_frame(AT_FDCWD, path, [&] {
    return ZAZEN_FORWARD(truncate64, (path, length), raw::truncate(path, length));
  });
}
