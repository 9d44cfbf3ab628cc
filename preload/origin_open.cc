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
  CopyPath copy(route, alloca(CopyPath::room(route)));
  return copy && raw::faccessat(AT_FDCWD, copy.text, F_OK, 0) == 0;
}

constexpr int kNew = O_CREAT | O_EXCL;

// The copy takes the place of the origin under the number that the program knows.
void replace_with_copy(const Route& route, int flags, int fd) {
  CopyPath copy(route, alloca(CopyPath::room(route)));
  if (!copy) return;
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
    : route_(may_write(open_flags) ? &route : nullptr), open_flags_(open_flags) {
  bool changes = (open_flags & O_TRUNC) != 0 || (open_flags & kNew) == kNew;
  if (route_ != nullptr && changes && copy_exists(route)) invalidate_copy(route);
}

// A file that is empty after an open with O_CREAT may have been made by it.
bool Change::is_only_open(int fd) const {
  if (open_flags_ == -1 || (open_flags_ & O_TRUNC) != 0 || (open_flags_ & kNew) == kNew) {
    return false;
  }
  ErrnoKeeper keep;
  struct stat st;
  return (open_flags_ & O_CREAT) == 0 || (raw::fstat(fd, &st) == 0 && st.st_size != 0);
}

int Change::done(int result) const {
  if (route_ == nullptr || result < 0) return result;
  // A file that this very call makes was never filled from on this node.
  bool is_new = open_flags_ != -1 && (open_flags_ & kNew) == kNew;
  bool may_be_copied = !is_new && (route_->alive || copy_exists(*route_));
  bool has_peers = route_->alive && route_->node->table->has_peers != 0;
  if (is_only_open(result)) {
    bool reads = (open_flags_ & O_ACCMODE) == O_RDONLY;
    if (reads || (may_be_copied && suspend_copy(*route_))) return result;
  } else if (may_be_copied || has_peers) {
    invalidate_copy(*route_);
  }
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
