#include "preload/frames/origin_open.h"

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/daemon_link.h"
#include "preload/frames/open_counts.h"

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
  const int copy_fd = open_filled_copy(copy.text, flags | O_CLOEXEC, fd);
  if (copy_fd < 0) return;
  raw::dup3(copy_fd, fd, flags & O_CLOEXEC);
  raw::close(copy_fd);
}

}  // namespace

Change::Change(const Route& route) : Change(route, before_change(route)) {}

Change::Change(const Route& route, const CopyBefore& before)
    : route_(route ? &route : nullptr) {
  if (route_ != nullptr) before_ = drop_before_change(route, before);
}

Change::Change(const Route& route, int open_flags)
    : route_(may_write(open_flags) ? &route : nullptr), open_flags_(open_flags) {
  bool changes = (open_flags & O_TRUNC) != 0 || (open_flags & kNew) == kNew;
  if (route_ != nullptr && changes) before_ = drop_before_change(route, before_change(route));
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

// The news of the change, or of the open, that others are to get.
std::uint32_t Change::settle(int result) const {
  const bool pushes = route_->node != nullptr && route_->published().push != 0 &&
                      route_->published().removed == 0 && !route_->is_companion();
  const std::uint32_t written = pushes ? std::uint32_t{kNewsWritten} : 0;
  if (is_only_open(result)) {
    const bool reads = (open_flags_ & O_ACCMODE) == O_RDONLY;
    const bool may_be_copied = route_->alive || copy_exists(*route_);
    if (reads) return 0;
    return may_be_copied ? suspend_copy(*route_, written) : written;
  }
  // A file that this very call makes was never filled from on this node.
  const bool is_new = open_flags_ != -1 && (open_flags_ & kNew) == kNew;
  return written | (is_new ? changed_for_peers(*route_) : drop_after_change(*route_, before_));
}

int Change::done(int result) const {
  if (route_ == nullptr) return result;
  tell_news(*route_, news_of(before_) | (result < 0 ? 0 : settle(result)));
  return result;
}

int origin_opened(const Route& route, int flags, int fd) {
  bool reads = (flags & O_ACCMODE) != O_WRONLY && (flags & (O_PATH | O_DIRECTORY)) == 0;
  if (fd < 0 || !reads) return fd;
  ErrnoKeeper keep;
  struct stat st;
  if (raw::known_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return fd;
  count_opened(route, fd, Source::kOrigin);
  if (!only_reads(flags) || !route.is_served() || copy_exists(route)) return fd;
  bool wait = route.published().fill == Fill::kWait;
  if (send_fill(route, fd, wait) && wait) replace_with_copy(route, flags, fd);
  return fd;
}

}  // namespace zazen
