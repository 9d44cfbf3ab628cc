// statx: as stat, for the requested fields. Fields that a copy does not keep (birth time,
// mount, attributes, alignment) are asked of the origin, if the caller requests them. If the
// origin is gone, they are not reported.
#include <sys/sysmacros.h>

#include <cstring>

#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_identity.h"
#include "preload/frames/copy_origin.h"
#include "preload/frames/other_call.h"
#include "preload/process/settings.h"

namespace raw = zazen::raw;

namespace {

constexpr int kKnownFlags =
    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | AT_STATX_DONT_SYNC;

struct statx_timestamp timestamp(const struct timespec& time) {
  struct statx_timestamp out = {};
  out.tv_sec = time.tv_sec;
  out.tv_nsec = static_cast<std::uint32_t>(time.tv_nsec);
  return out;
}

// Copies the fields that struct stat lacks; those of newer kernels follow the known ones.
void show_rest(const struct statx& from, struct statx* out) {
  constexpr std::size_t kKnown =
      offsetof(struct statx, stx_dev_minor) + sizeof from.stx_dev_minor;
  constexpr unsigned kBasic = STATX_BASIC_STATS;
  out->stx_mask = (out->stx_mask & kBasic) | (from.stx_mask & ~kBasic);
  out->stx_btime = from.stx_btime;
  out->stx_attributes = from.stx_attributes;
  out->stx_attributes_mask = from.stx_attributes_mask;
  std::memcpy(reinterpret_cast<char*>(out) + kKnown,
              reinterpret_cast<const char*>(&from) + kKnown, sizeof from - kKnown);
}

// The kernel leaves out fields that were not requested, and so does this. The other fields are
// unknown.
void show(const struct stat& st, struct statx* out) {
  show_rest({}, out);
  if (out->stx_mask & (STATX_TYPE | STATX_MODE)) {
    out->stx_mode = static_cast<std::uint16_t>(st.st_mode);
  }
  if (out->stx_mask & STATX_UID) out->stx_uid = st.st_uid;
  if (out->stx_mask & STATX_GID) out->stx_gid = st.st_gid;
  if (out->stx_mask & STATX_NLINK) out->stx_nlink = static_cast<std::uint32_t>(st.st_nlink);
  if (out->stx_mask & STATX_BLOCKS) out->stx_blocks = static_cast<std::uint64_t>(st.st_blocks);
  if (out->stx_mask & STATX_INO) out->stx_ino = st.st_ino;
  if (out->stx_mask & STATX_SIZE) out->stx_size = static_cast<std::uint64_t>(st.st_size);
  if (out->stx_mask & STATX_MTIME) out->stx_mtime = timestamp(st.st_mtim);
  if (out->stx_mask & STATX_CTIME) out->stx_ctime = timestamp(st.st_ctim);
  out->stx_dev_major = gnu_dev_major(st.st_dev);
  out->stx_dev_minor = gnu_dev_minor(st.st_dev);
}

struct timespec time_of(const struct statx_timestamp& time) {
  return {time.tv_sec, time.tv_nsec};
}

// The fields that identify a copy. Some kernels return fewer fields if fewer are requested.
constexpr unsigned kTelling =
    STATX_TYPE | STATX_MODE | STATX_UID | STATX_INO | STATX_SIZE | STATX_CTIME;

struct stat plain(const struct statx& from) {
  struct stat st = {};
  st.st_dev = gnu_dev_makedev(from.stx_dev_major, from.stx_dev_minor);
  st.st_ino = from.stx_ino;
  st.st_mode = from.stx_mode;
  st.st_nlink = from.stx_nlink;
  st.st_uid = from.stx_uid;
  st.st_blocks = static_cast<blkcnt_t>(from.stx_blocks);
  st.st_size = static_cast<off_t>(from.stx_size);
  st.st_ctim = time_of(from.stx_ctime);
  return st;
}

bool is_in_stat(unsigned mask) {
  return (mask & ~static_cast<unsigned>(STATX_BASIC_STATS)) == 0;
}

// The copy's own statx, overwritten with the origin's identity.
bool statx_copy(const zazen::Route& route, unsigned mask, struct statx* out) {
  if (!route) [[likely]]
    return false;
  if (out == nullptr || !is_in_stat(mask) || zazen::real::stat_is_foreign) return false;
  zazen::ErrnoKeeper keep;
  zazen::CopyPath copy(route, alloca(zazen::CopyPath::room(route)));
  zazen::OriginIdentity identity;
  dev_t dev;
  struct statx local;
  struct stat st;
  if (!zazen::copy_may_answer(route, copy, &dev) ||
      raw::statx(AT_FDCWD, copy.text, AT_SYMLINK_NOFOLLOW, mask, &local) != 0) {
    return false;
  }
  if ((mask & kTelling) == kTelling) {
    st = plain(local);
  } else if (raw::fstatat(AT_FDCWD, copy.text, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  if (!zazen::identify_copy(route, copy, st, &identity)) return false;
  zazen::show_identity(identity, dev, &st);
  show(st, &local);
  *out = local;
  return true;
}

// Asks the origin of an open copy for the fields that struct stat lacks.
[[gnu::noinline]] void ask_for_rest(int fd, unsigned mask, struct statx* out) {
  zazen::CopyOrigin origin;
  struct statx rest;
  if (!zazen::find_origin(fd, &origin) || !origin.is_there ||
      raw::statx(AT_FDCWD, origin.path, AT_SYMLINK_NOFOLLOW, mask | STATX_INO, &rest) != 0 ||
      rest.stx_ino != origin.identity.ino) {
    return;
  }
  show_rest(rest, out);
  out->stx_blksize = rest.stx_blksize;
}

// After a plain statx: if the file is a copy, overwrites the result with the origin's identity.
[[gnu::noinline]] void show_origin(int dirfd, const char* path, int flags, unsigned mask,
                                   struct statx* out) {
  zazen::ErrnoKeeper keep;
  bool by_fd = path == nullptr || zazen::is_empty_string(path);
  zazen::CopyOrigin origin;
  if (zazen::real::stat_is_foreign && by_fd && zazen::find_origin(dirfd, &origin) &&
      origin.is_there &&
      ZAZEN_FORWARD(statx, (AT_FDCWD, origin.path, AT_SYMLINK_NOFOLLOW, mask, out), -1) == 0) {
    return;
  }
  struct stat st;
  if (by_fd ? raw::fstat(dirfd, &st) != 0
            : raw::fstatat(dirfd, path, &st, flags & AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  zazen::OriginIdentity identity;
  dev_t dev;
  if (by_fd ? !zazen::identity_of_fd(dirfd, st, &identity, &dev)
            : !zazen::identity_of_path(dirfd, path, flags, st, &identity, &dev)) {
    return;
  }
  if (st.st_nlink == 0) {
    by_fd ? zazen::recount_links(dirfd, &identity)
          : zazen::recount_links_at(dirfd, path, &identity);
  }
  zazen::show_identity(identity, dev, &st);
  show(st, out);
  if (is_in_stat(mask)) return;
  zazen::RawFd file(by_fd ? -1
                          : raw::openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0));
  ask_for_rest(by_fd ? dirfd : file.get(), mask, out);
}

}  // namespace

ZAZEN_HOOK int statx(int dirfd, const char* path, int flags, unsigned mask, struct statx* out) {
  path = zazen::unpromised(path);
  out = zazen::unpromised(out);
  bool by_fd = (flags & AT_EMPTY_PATH) != 0 && zazen::is_empty_string(path);
  zazen::Route route;
  if (!by_fd) route = zazen::route_for(dirfd, path);
  if ((flags & ~kKnownFlags) == 0 && statx_copy(route, mask, out)) return 0;
  auto forward = [&] { return ZAZEN_CALL(statx, dirfd, path, flags, mask, out); };
  int result = by_fd   ? zazen::stat_open(dirfd, forward)
               : route ? forward()
                       : zazen::stat_beside(path, forward);
  if (result == 0 && zazen::has_mode_of_copy(out->stx_mode) && zazen::settings.active &&
      !zazen::guard_is_raised()) {
    show_origin(dirfd, path, flags, mask, out);
  }
  return result;
}
