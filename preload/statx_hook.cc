// statx: as stat, for the fields that were asked for. What a copy cannot know of its origin
// (birth time, mount) is asked of the origin by path, and not claimed by descriptor.
#include <sys/sysmacros.h>

#include "preload/cached_copy.h"
#include "preload/guard.h"
#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/real.h"
#include "preload/settings.h"

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

// The kernel leaves out what was not asked for; so does this.
void show(const struct stat& st, struct statx* out) {
  out->stx_mask &= STATX_BASIC_STATS;
  out->stx_btime = {};
  if (out->stx_mask & (STATX_TYPE | STATX_MODE)) {
    out->stx_mode = static_cast<std::uint16_t>(st.st_mode);
  }
  if (out->stx_mask & STATX_UID) out->stx_uid = st.st_uid;
  if (out->stx_mask & STATX_GID) out->stx_gid = st.st_gid;
  if (out->stx_mask & STATX_INO) out->stx_ino = st.st_ino;
  if (out->stx_mask & STATX_SIZE) out->stx_size = static_cast<std::uint64_t>(st.st_size);
  if (out->stx_mask & STATX_MTIME) out->stx_mtime = timestamp(st.st_mtim);
  if (out->stx_mask & STATX_CTIME) out->stx_ctime = timestamp(st.st_ctim);
  out->stx_dev_major = gnu_dev_major(st.st_dev);
  out->stx_dev_minor = gnu_dev_minor(st.st_dev);
}

// The copy's own statx with the origin's identity over it.
bool statx_copy(int dirfd, const char* path, unsigned mask, struct statx* out) {
  if (out == nullptr || (mask & ~static_cast<unsigned>(STATX_BASIC_STATS)) != 0) return false;
  zazen::Route route = zazen::route_for(dirfd, path);
  if (!route) [[likely]]
    return false;
  zazen::ErrnoKeeper keep;
  zazen::CopyPath copy;
  struct stat st;
  struct statx local;
  if (!zazen::stat_copy(route, &st) || !copy.set(route) ||
      raw::statx(AT_FDCWD, copy.text, AT_SYMLINK_NOFOLLOW, mask, &local) != 0) {
    return false;
  }
  show(st, &local);
  *out = local;
  return true;
}

// By descriptor: if it is a copy's, its fstat with the origin's identity over it.
void show_origin_of_fd(int fd, struct statx* out) {
  if (!S_ISREG(out->stx_mode) || (out->stx_mode & S_ISVTX) == 0) return;
  zazen::ErrnoKeeper keep;
  struct stat st;
  zazen::OriginIdentity identity;
  dev_t dev;
  if (raw::fstat(fd, &st) != 0 || !zazen::identity_of_fd(fd, st, &identity, &dev)) return;
  zazen::show_identity(identity, dev, &st);
  show(st, out);
}

}  // namespace

ZAZEN_HOOK int statx(int dirfd, const char* path, int flags, unsigned mask, struct statx* out) {
  path = zazen::unpromised(path);
  out = zazen::unpromised(out);
  bool by_fd = path != nullptr && *path == '\0' && (flags & AT_EMPTY_PATH) != 0;
  if ((flags & ~kKnownFlags) == 0 && !by_fd && statx_copy(dirfd, path, mask, out)) return 0;
  int result = ZAZEN_FORWARD(statx, (dirfd, path, flags, mask, out),
                             raw::statx(dirfd, path, flags, mask, out));
  if (result == 0 && by_fd && zazen::settings.active && !zazen::guard_is_raised()) {
    show_origin_of_fd(dirfd, out);
  }
  return result;
}
