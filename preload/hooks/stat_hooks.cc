// The stat family: a copy shows its origin's identity (D9). By path the answer comes from the
// copy, if there is one. By descriptor the file itself shows that it is a copy, whichever
// process opened it and whether or not the daemon lives.
//
// struct stat64 is struct stat on this machine. Programs linked against a glibc older than 2.33
// call the __xstat forms.
#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_identity.h"
#include "preload/frames/copy_origin.h"
#include "preload/frames/other_call.h"
#include "preload/process/settings.h"

static_assert(sizeof(struct stat) == sizeof(struct stat64));

namespace raw = zazen::raw;
using zazen::real::stat_is_foreign;

namespace {

constexpr int kKnownFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;

bool is_watching() {
  return zazen::settings.active && !zazen::guard_is_raised();
}

// The slow parts are separate functions, so that the fast path needs almost no stack frame.
[[gnu::noinline]] bool stat_frame(int dirfd, const char* path, struct stat* st,
                                  bool* is_frame) {
  zazen::Route route = zazen::find_route(dirfd, path);
  *is_frame = static_cast<bool>(route);
  return route && !stat_is_foreign && zazen::stat_copy(route, st);
}

[[gnu::noinline]] void show_origin(int dirfd, const char* path, int flags, struct stat* st) {
  zazen::OriginIdentity identity;
  dev_t dev;
  if (is_watching() && zazen::identity_of_path(dirfd, path, flags, *st, &identity, &dev)) {
    if (st->st_nlink == 0) zazen::recount_links_at(dirfd, path, &identity);
    zazen::show_identity(identity, dev, st);
  }
}

// The path names a frame, or leads to a copy in another way: /proc/self/fd/3, or the cache
// itself.
template <class Stat, class Forward>
int stat_path(int dirfd, const char* path, Stat* result, int flags, Forward forward) {
  // For nearly every path the real call is a tail call: returning here from the kernel would
  // cost as much as the first look.
  if (!zazen::path_prefilter.may_lead_to_copy(path)) [[likely]] {
    if (!zazen::path_prefilter.may_be_beside(path)) [[likely]]
      return forward();
    return zazen::stat_beside(path, forward);
  }
  struct stat* st = reinterpret_cast<struct stat*>(result);
  bool is_frame = false;
  if (stat_frame(dirfd, path, st, &is_frame)) return 0;
  int status = is_frame ? forward() : zazen::stat_beside(path, forward);
  if (status == 0 && zazen::has_mode_of_copy(st->st_mode)) [[unlikely]]
    show_origin(dirfd, path, flags, st);
  return status;
}

// Asks the library after us that changes stat for the origin of an open copy.
[[gnu::noinline]] bool stat_foreign(int fd, struct stat* st) {
  zazen::ErrnoKeeper keep;
  zazen::CopyOrigin origin;
  return stat_is_foreign && zazen::find_origin(fd, &origin) && origin.is_there &&
         ZAZEN_FORWARD(stat, (origin.path, st), -1) == 0;
}

[[gnu::noinline]] void show_origin(int fd, struct stat* st) {
  zazen::OriginIdentity identity;
  dev_t dev;
  if (is_watching() && !stat_foreign(fd, st) &&
      zazen::identity_of_fd(fd, *st, &identity, &dev)) {
    if (st->st_nlink == 0) zazen::recount_links(fd, &identity);
    zazen::show_identity(identity, dev, st);
  }
}

template <class Stat, class Forward>
int stat_fd(int fd, Stat* result, Forward forward) {
  int status = zazen::stat_open(fd, forward);
  struct stat* st = reinterpret_cast<struct stat*>(result);
  if (status == 0 && zazen::has_mode_of_copy(st->st_mode)) [[unlikely]]
    show_origin(fd, st);
  return status;
}

template <class Stat, class Forward>
int stat_either(int dirfd, const char* path, Stat* st, int flags, Forward forward) {
  path = zazen::unpromised(path);
  if ((flags & ~kKnownFlags) != 0) return forward();
  // The newest kernels accept null for an empty path.
  bool is_empty = path == nullptr || zazen::is_empty_string(path);
  if (is_empty) return (flags & AT_EMPTY_PATH) != 0 ? stat_fd(dirfd, st, forward) : forward();
  return stat_path(dirfd, path, st, flags, forward);
}

// The versions of __xstat: 0 and 1 are the same structure here, all others are errors.
int old_stat(int version, int dirfd, const char* path, struct stat* st, int flags) {
  if (version == 0 || version == 1) return raw::fstatat(dirfd, path, st, flags);
  errno = EINVAL;
  return -1;
}

template <class Stat>
struct stat* plain(Stat* st) {
  return reinterpret_cast<struct stat*>(st);
}

}  // namespace

#define STAT_HOOK(name, Stat, flags)                                                          \
  ZAZEN_HOOK int name(const char* path, struct Stat* st) {                                    \
    return stat_path(AT_FDCWD, path, st, flags, [&] {                                         \
      return ZAZEN_FORWARD(name, (path, st), raw::fstatat(AT_FDCWD, path, plain(st), flags)); \
    });                                                                                       \
  }
STAT_HOOK(stat, stat, 0)
STAT_HOOK(stat64, stat64, 0)
STAT_HOOK(lstat, stat, AT_SYMLINK_NOFOLLOW)
STAT_HOOK(lstat64, stat64, AT_SYMLINK_NOFOLLOW)

#define FSTAT_HOOK(name, Stat)                                                                \
  ZAZEN_HOOK int name(int fd, struct Stat* st) {                                              \
    return stat_fd(fd, st,                                                                    \
                   [&] { return ZAZEN_FORWARD(name, (fd, st), raw::fstat(fd, plain(st))); }); \
  }
FSTAT_HOOK(fstat, stat)
FSTAT_HOOK(fstat64, stat64)

#define FSTATAT_HOOK(name, Stat)                                                 \
  ZAZEN_HOOK int name(int dirfd, const char* path, struct Stat* st, int flags) { \
    return stat_either(dirfd, path, st, flags, [&] {                             \
      return ZAZEN_FORWARD(name, (dirfd, path, st, flags),                       \
                           raw::fstatat(dirfd, path, plain(st), flags));         \
    });                                                                          \
  }
FSTATAT_HOOK(fstatat, stat)
FSTATAT_HOOK(fstatat64, stat64)

// Programs linked against a glibc older than 2.33 call these names.
#define XSTAT_HOOK(name, Stat, flags)                                            \
  ZAZEN_HOOK int name(int version, const char* path, struct Stat* st) {          \
    return stat_path(AT_FDCWD, path, st, flags, [&] {                            \
      return ZAZEN_FORWARD(name, (version, path, st),                            \
                           old_stat(version, AT_FDCWD, path, plain(st), flags)); \
    });                                                                          \
  }
XSTAT_HOOK(__xstat, stat, 0)
XSTAT_HOOK(__xstat64, stat64, 0)
XSTAT_HOOK(__lxstat, stat, AT_SYMLINK_NOFOLLOW)
XSTAT_HOOK(__lxstat64, stat64, AT_SYMLINK_NOFOLLOW)

#define FXSTAT_HOOK(name, Stat)                                                  \
  ZAZEN_HOOK int name(int version, int fd, struct Stat* st) {                    \
    return stat_fd(fd, st, [&] {                                                 \
      return ZAZEN_FORWARD(name, (version, fd, st),                              \
                           old_stat(version, fd, "", plain(st), AT_EMPTY_PATH)); \
    });                                                                          \
  }
FXSTAT_HOOK(__fxstat, stat)
FXSTAT_HOOK(__fxstat64, stat64)

#define FXSTATAT_HOOK(name, Stat)                                                             \
  ZAZEN_HOOK int name(int version, int dirfd, const char* path, struct Stat* st, int flags) { \
    return stat_either(dirfd, path, st, flags, [&] {                                          \
      return ZAZEN_FORWARD(name, (version, dirfd, path, st, flags),                           \
                           old_stat(version, dirfd, path, plain(st), flags));                 \
    });                                                                                       \
  }
FXSTATAT_HOOK(__fxstatat, stat)
FXSTATAT_HOOK(__fxstatat64, stat64)
