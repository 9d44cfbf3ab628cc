// fopen and freopen: glibc opens the file by an internal name, so hooking open does not see
// it. A hit is fdopen on the copy; everything after that is stdio on a real descriptor.
//
// freopen closes the stream before it opens the new file and cannot be tried twice; it always
// takes the origin.
#include <cstring>

#include "preload/cached_copy.h"
#include "preload/copy_origin.h"
#include "preload/hook.h"
#include "preload/origin_open.h"
#include "preload/real.h"

namespace {

// The open flags that an fopen mode means; -1 for a mode that only libc should judge.
int flags_of(const char* mode) {
  if (mode == nullptr) return -1;
  int flags = 0;
  switch (*mode) {
    case 'r':
      flags = O_RDONLY;
      break;
    case 'w':
      flags = O_WRONLY | O_CREAT | O_TRUNC;
      break;
    case 'a':
      flags = O_WRONLY | O_CREAT | O_APPEND;
      break;
    default:
      return -1;
  }
  for (const char* c = mode + 1; *c != '\0' && *c != ','; ++c) {
    if (*c == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*c == 'e') flags |= O_CLOEXEC;
    if (*c == 'x') flags |= O_EXCL;
  }
  return flags;
}

FILE* stream_of_copy(const zazen::Route& route, const char* mode, int flags) {
  if (std::strchr(mode, ',') != nullptr) return nullptr;  // fdopen knows no ",ccs="
  zazen::ErrnoKeeper keep;
  int fd = zazen::open_copy(route, flags);
  if (fd < 0) return nullptr;
  FILE* stream = ::fdopen(fd, mode);
  if (stream == nullptr) zazen::raw::close(fd);
  return stream;
}

template <class Forward>
FILE* fopen_routed(const zazen::Route& route, const char* path, const char* mode,
                   Forward forward) {
  int flags = route ? flags_of(mode) : -1;
  if (flags < 0) [[likely]]
    return forward(path);
  if (FILE* stream = stream_of_copy(route, mode, flags)) return stream;
  zazen::Change change(route, flags);
  FILE* stream = forward(path);
  zazen::origin_opened(route, flags, change.done(stream == nullptr ? -1 : ::fileno(stream)));
  return stream;
}

// As open: through /proc/self/fd nobody gets a copy for writing.
template <class Forward>
FILE* fopen_frame(const char* path, const char* mode, Forward forward) {
  int flags = zazen::descriptor_link(path) != nullptr ? flags_of(mode) : -1;
  if (flags < 0 || !zazen::may_write(flags)) [[likely]]
    return fopen_routed(zazen::route_for(AT_FDCWD, path), path, mode, forward);
  zazen::FollowedLink link(AT_FDCWD, path);
  return fopen_routed(link.route(), link.path(), mode, forward);
}

template <class Forward>
FILE* freopen_frame(const char* path, const char* mode, Forward forward) {
  zazen::Route route = zazen::route_for(AT_FDCWD, path);
  int flags = route ? flags_of(mode) : -1;
  if (flags < 0) [[likely]]
    return forward();
  zazen::Change change(route, flags);
  FILE* stream = forward();
  zazen::origin_opened(route, flags, change.done(stream == nullptr ? -1 : ::fileno(stream)));
  return stream;
}

}  // namespace

using zazen::real::late;
using zazen::real::next;

ZAZEN_HOOK FILE* fopen(const char* path, const char* mode) {
  return fopen_frame(path, mode,
                     [&](const char* name) { return late(next.fopen)(name, mode); });
}

ZAZEN_HOOK FILE* fopen64(const char* path, const char* mode) {
  return fopen_frame(path, mode,
                     [&](const char* name) { return late(next.fopen64)(name, mode); });
}

ZAZEN_HOOK FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return freopen_frame(path, mode, [&] { return late(next.freopen)(path, mode, stream); });
}

ZAZEN_HOOK FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return freopen_frame(path, mode, [&] { return late(next.freopen64)(path, mode, stream); });
}
