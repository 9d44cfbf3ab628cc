// fopen and freopen: glibc opens the file by an internal name, which the hook of open does not
// see. A hit is fdopen on the copy; after that, stdio works on a real descriptor.
//
// freopen needs a path, and so does fopen with ",ccs=", which fdopen does not support. The path
// is that of the copy's own descriptor, which eviction does not affect. freopen closes the
// stream before it opens the new file, so it cannot be repeated; the path is tested first.
#include <algorithm>
#include <cstring>

#include "preload/calls/cancellation.h"
#include "preload/calls/hook.h"
#include "preload/calls/real.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_origin.h"
#include "preload/frames/frame_change.h"
#include "preload/frames/origin_open.h"
#include "preload/frames/other_call.h"

namespace {

// The open flags of an fopen mode; -1 for a mode that libc has to judge.
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

// The copy, open under a number that libc's next open does not use, and a path to it.
class CopyAside {
 public:
  CopyAside(const zazen::Route& route, int flags, int above) : flags_(flags | O_CLOEXEC) {
    zazen::ErrnoKeeper keep;
    int fd = zazen::open_copy(route, flags_);
    if (fd < 0) return;
    fd_ = static_cast<int>(
        zazen::raw::call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, std::max(fd, above) + 1));
    zazen::raw::close(fd);
    ::snprintf(path_, sizeof path_, "/proc/thread-self/fd/%d", fd_);
  }
  ~CopyAside() {
    zazen::ErrnoKeeper keep;
    if (fd_ >= 0) zazen::raw::close(fd_);
  }
  CopyAside(const CopyAside&) = delete;
  CopyAside& operator=(const CopyAside&) = delete;

  const char* path() const { return path_; }
  explicit operator bool() const { return fd_ >= 0; }
  bool opens_by_path() const {
    zazen::ErrnoKeeper keep;
    int fd = zazen::raw::openat(AT_FDCWD, path_, flags_, 0);
    if (fd >= 0) zazen::raw::close(fd);
    return fd >= 0;
  }

 private:
  zazen::CancellationOff off_;
  int flags_;
  int fd_ = -1;
  char path_[48];
};

template <class Forward>
FILE* stream_of_copy(const zazen::Route& route, const char* mode, int flags, Forward forward) {
  zazen::ErrnoKeeper keep;
  if (std::strchr(mode, ',') != nullptr) {
    CopyAside copy(route, flags, -1);
    return copy ? forward(copy.path()) : nullptr;
  }
  int fd = zazen::open_copy(route, flags);
  if (fd < 0) return nullptr;
  FILE* stream = ::fdopen(fd, mode);
  if (stream == nullptr) zazen::raw::close(fd);
  return stream;
}

// As drop_if_written, for a stream; null if the intended file could not be opened.
FILE* written(const zazen::Route& named, int flags, FILE* stream) {
  if (stream == nullptr || zazen::drop_if_written(named, flags, ::fileno(stream)) >= 0) {
    return stream;
  }
  zazen::ErrnoKeeper keep;
  ::fclose(stream);
  return nullptr;
}

template <class Forward>
FILE* open_origin_stream(const zazen::Route& route, const char* path, int flags,
                         Forward forward) {
  zazen::Change change(route, flags);
  FILE* stream = forward(path);
  change.done(stream == nullptr ? -1 : ::fileno(stream));
  stream = written(route, flags, stream);
  zazen::origin_opened(route, flags, stream == nullptr ? -1 : ::fileno(stream));
  return stream;
}

template <class Forward>
FILE* fopen_routed(const zazen::Route& route, const char* path, const char* mode,
                   Forward forward) {
  int flags = flags_of(mode);
  if (!route || flags < 0) [[likely]] {
    zazen::CallBeside call(AT_FDCWD, path,
                           flags > 0 && zazen::may_write(flags) ? zazen::OtherCall::kWrite
                                                                : zazen::OtherCall::kRead);
    FILE* stream = forward(path);
    return flags > 0 ? written(route, flags, stream) : stream;
  }
  if (FILE* stream = stream_of_copy(route, mode, flags, forward)) return stream;
  return open_origin_stream(route, path, flags, forward);
}

// As open: through /proc/self/fd no program gets a copy for writing.
template <class Forward>
FILE* fopen_frame(const char* path, const char* mode, Forward forward) {
  int flags = zazen::descriptor_link(path) != nullptr ? flags_of(mode) : -1;
  if (flags < 0 || !zazen::may_write(flags)) [[likely]]
    return fopen_routed(zazen::route_for(AT_FDCWD, path), path, mode, forward);
  zazen::FollowedLink link(AT_FDCWD, path);
  return fopen_routed(link.route(), link.path(), mode, forward);
}

int number_of(FILE* stream) {
  zazen::ErrnoKeeper keep;
  return ::fileno(stream);
}

// Gives the stream its old number, whatever number the new file had.
template <class Forward>
FILE* freopen_routed(const zazen::Route& route, const char* path, const char* mode, FILE* old,
                     Forward forward) {
  int flags = flags_of(mode);
  if (!route || flags < 0) [[likely]] {
    FILE* stream = forward(path);
    return flags > 0 ? written(route, flags, stream) : stream;
  }
  if (CopyAside copy(route, flags, number_of(old)); copy && copy.opens_by_path()) {
    return forward(copy.path());
  }
  return open_origin_stream(route, path, flags, forward);
}

// Without a path, libc reopens the stream's own file through /proc/self/fd.
template <class Forward>
FILE* freopen_frame(const char* path, const char* mode, FILE* old, Forward forward) {
  path = zazen::unpromised(path);
  char own[32];
  if (path == nullptr) ::snprintf(own, sizeof own, "/proc/self/fd/%d", number_of(old));
  const char* name = path == nullptr ? own : path;
  int flags = zazen::descriptor_link(name) != nullptr ? flags_of(mode) : -1;
  if (flags < 0 || !zazen::may_write(flags)) [[likely]]
    return freopen_routed(zazen::route_for(AT_FDCWD, path), path, mode, old, forward);
  zazen::FollowedLink link(AT_FDCWD, name);
  if (link.origin() == nullptr) return freopen_routed(link.route(), path, mode, old, forward);
  return freopen_routed(link.route(), link.path(), mode, old, forward);
}

}  // namespace

using zazen::real::late;
using zazen::real::next;

#define FOPEN_HOOK(name)                                                               \
  ZAZEN_HOOK FILE* name(const char* path, const char* mode) {                          \
    return fopen_frame(path, mode,                                                     \
                       [&](const char* file) { return late(next.name)(file, mode); }); \
  }
FOPEN_HOOK(fopen)
FOPEN_HOOK(fopen64)
FOPEN_HOOK(_IO_fopen)  // libc's older name for fopen, which it still exports

#define FREOPEN_HOOK(name)                                                  \
  ZAZEN_HOOK FILE* name(const char* path, const char* mode, FILE* stream) { \
    return freopen_frame(path, mode, stream, [&](const char* file) {        \
      return late(next.name)(file, mode, stream);                           \
    });                                                                     \
  }
FREOPEN_HOOK(freopen)
FREOPEN_HOOK(freopen64)
