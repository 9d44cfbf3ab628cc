// readlink and realpath: the links of procfs to an open copy name its origin, not the cache
// (D9). A program's own link into the cache stays as it is.
#include <stdlib.h>

#include <algorithm>
#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/copy_origin.h"

namespace raw = zazen::raw;
using zazen::real::late;
using zazen::real::next;

namespace {

// A short buffer truncates the origin's name as the kernel would. The copy's name is longer;
// the hook asks the kernel only for as much of it as it overwrites. forward(capacity).
template <class Forward>
[[gnu::noinline]] ssize_t read_proc_link(int dirfd, const char* path, char* out,
                                         size_t capacity, Forward forward) {
  zazen::FollowedLink link(dirfd, path);
  std::size_t length = link.origin() == nullptr ? 0 : zazen::name_in_proc(link.origin());
  if (length == 0) return forward(capacity);
  std::size_t shown = std::min(length, capacity);
  ssize_t result = forward(shown);
  if (result > 0) std::memcpy(out, link.origin()->copy, shown);
  return result > 0 ? static_cast<ssize_t>(shown) : result;
}

template <class Forward>
ssize_t read_link(int dirfd, const char* path, char* out, size_t capacity, Forward forward) {
  // /dev/stdin is a link to such a link, and shows that link.
  if (zazen::descriptor_link(path) == nullptr || !zazen::is_proc_link(dirfd, path)) [[likely]]
    return forward(capacity);
  return read_proc_link(dirfd, path, out, capacity, forward);
}

template <class Forward>
char* resolve(const char* path, Forward forward) {
  const char* named = zazen::descriptor_link(path);
  if (named == nullptr || !zazen::is_proc_link(AT_FDCWD, named)) [[likely]]
    return forward(path);
  zazen::FollowedLink link(AT_FDCWD, path);
  return forward(link.path());
}

}  // namespace

ZAZEN_HOOK ssize_t readlink(const char* path, char* out, size_t capacity) {
  return read_link(AT_FDCWD, path, out, capacity,
                   [&](size_t room) { return ZAZEN_CALL(readlink, path, out, room); });
}

ZAZEN_HOOK ssize_t readlinkat(int dirfd, const char* path, char* out, size_t capacity) {
  return read_link(dirfd, path, out, capacity,
                   [&](size_t room) { return ZAZEN_CALL(readlinkat, dirfd, path, out, room); });
}

// Called by programs built with _FORTIFY_SOURCE. It aborts if the buffer is smaller than the
// program says.
ZAZEN_HOOK ssize_t __readlink_chk(const char* path, char* out, size_t capacity, size_t size) {
  return read_link(AT_FDCWD, path, out, capacity, [&](size_t room) {
    return late(next.__readlink_chk)(path, out, room, size);
  });
}

ZAZEN_HOOK ssize_t __readlinkat_chk(int dirfd, const char* path, char* out, size_t capacity,
                                    size_t size) {
  return read_link(dirfd, path, out, capacity, [&](size_t room) {
    return late(next.__readlinkat_chk)(dirfd, path, out, room, size);
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
