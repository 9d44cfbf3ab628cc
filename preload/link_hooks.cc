// What links say: the links of procfs to an open copy name its origin, not the cache (D9). A
// program's own link into the cache is left as it is.
#include <stdlib.h>

#include <algorithm>
#include <cstring>

#include "preload/copy_origin.h"
#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/real.h"

namespace raw = zazen::raw;
using zazen::real::late;
using zazen::real::next;

namespace {

// The kernel has written `length` bytes of the link; a buffer that is too short cuts the
// origin's name as it would have cut the copy's.
[[gnu::noinline]] ssize_t show_origin(int dirfd, const char* path, char* out, size_t capacity,
                                      ssize_t length) {
  zazen::FollowedLink link(dirfd, path);
  if (link.origin() == nullptr) return length;
  char name[sizeof link.origin()->copy];
  std::size_t whole = zazen::name_in_proc(*link.origin(), name, sizeof name);
  if (whole == 0) return length;
  std::size_t shown = std::min(whole, capacity);
  std::memcpy(out, name, shown);
  return static_cast<ssize_t>(shown);
}

template <class Forward>
ssize_t read_link(int dirfd, const char* path, char* out, size_t capacity, Forward forward) {
  ssize_t length = forward();
  // /dev/stdin is a link to such a link, and says so.
  if (length <= 0 || zazen::descriptor_link(path) != path) [[likely]]
    return length;
  return show_origin(dirfd, path, out, capacity, length);
}

template <class Forward>
char* resolve(const char* path, Forward forward) {
  if (zazen::descriptor_link(path) == nullptr) [[likely]]
    return forward(path);
  zazen::FollowedLink link(AT_FDCWD, path);
  return forward(link.path());
}

}  // namespace

ZAZEN_HOOK ssize_t readlink(const char* path, char* out, size_t capacity) {
  return read_link(AT_FDCWD, path, out, capacity, [&] {
    return ZAZEN_FORWARD(readlink, (path, out, capacity),
                         raw::readlinkat(AT_FDCWD, path, out, capacity));
  });
}

ZAZEN_HOOK ssize_t readlinkat(int dirfd, const char* path, char* out, size_t capacity) {
  return read_link(dirfd, path, out, capacity, [&] {
    return ZAZEN_FORWARD(readlinkat, (dirfd, path, out, capacity),
                         raw::readlinkat(dirfd, path, out, capacity));
  });
}

// What a program built with _FORTIFY_SOURCE calls; it aborts if the buffer is smaller than
// the program says.
ZAZEN_HOOK ssize_t __readlink_chk(const char* path, char* out, size_t capacity, size_t size) {
  return read_link(AT_FDCWD, path, out, capacity,
                   [&] { return late(next.__readlink_chk)(path, out, capacity, size); });
}

ZAZEN_HOOK ssize_t __readlinkat_chk(int dirfd, const char* path, char* out, size_t capacity,
                                    size_t size) {
  return read_link(dirfd, path, out, capacity, [&] {
    return late(next.__readlinkat_chk)(dirfd, path, out, capacity, size);
  });
}

ZAZEN_HOOK char* realpath(const char* path, char* resolved) {
  return resolve(path, [&](const char* name) { return late(next.realpath)(name, resolved); });
}

ZAZEN_HOOK char* __realpath_chk(const char* path, char* resolved, size_t size) {
  return resolve(
      path, [&](const char* name) { return late(next.__realpath_chk)(name, resolved, size); });
}

ZAZEN_HOOK char* canonicalize_file_name(const char* path) {
  return resolve(path,
                 [&](const char* name) { return late(next.canonicalize_file_name)(name); });
}
