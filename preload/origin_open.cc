#include "preload/origin_open.h"

#include "preload/account.h"
#include "preload/cached_copy.h"
#include "preload/daemon_link.h"
#include "preload/hook.h"
#include "preload/raw.h"

namespace zazen {
namespace {

bool copy_exists(const Route& route) {
  ErrnoKeeper keep;
  CopyPath copy;
  return copy.set(route) && raw::faccessat(AT_FDCWD, copy.text, F_OK, 0) == 0;
}

// The copy takes the place of the origin under the number that the program knows.
void replace_with_copy(const Route& route, int flags, int fd) {
  CopyPath copy;
  if (!copy.set(route)) return;
  int copy_fd = raw::openat(AT_FDCWD, copy.text, flags | O_CLOEXEC, 0);
  if (copy_fd < 0) return;
  raw::dup3(copy_fd, fd, flags & O_CLOEXEC);
  raw::close(copy_fd);
}

}  // namespace

bool may_write(int flags) {
  return (flags & O_PATH) == 0 &&
         ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_TRUNC | O_CREAT)) != 0);
}

Change::Change(const Route& route) : route_(route ? &route : nullptr) {
  if (route_ != nullptr && copy_exists(route)) invalidate_copy(route);
}

Change::Change(const Route& route, int open_flags)
    : route_(may_write(open_flags) ? &route : nullptr) {
  if (route_ == nullptr) return;
  if (copy_exists(route)) invalidate_copy(route);
  // A file that this very call makes was never filled from.
  is_new_ = (open_flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
}

int Change::done(int result) const {
  if (route_ == nullptr || result < 0) return result;
  if (!is_new_ && (route_->alive || copy_exists(*route_))) invalidate_copy(*route_);
  tell_written(*route_);
  return result;
}

int origin_opened(const Route& route, int flags, int fd) {
  bool reads = (flags & O_ACCMODE) != O_WRONLY && (flags & (O_PATH | O_DIRECTORY)) == 0;
  if (fd < 0 || !reads) return fd;
  ErrnoKeeper keep;
  struct stat st;
  if (raw::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return fd;
  count_opened(route, fd, Source::kOrigin);
  if (!only_reads(flags) || !route.is_served() || copy_exists(route)) return fd;
  bool wait = route.published().fill == Fill::kWait;
  if (send_fill(route, fd, wait) && wait) replace_with_copy(route, flags, fd);
  return fd;
}

}  // namespace zazen
