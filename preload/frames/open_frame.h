// Decides an open by any call: open the copy, open the origin and fill, or open the origin and
// drop the copy. forward(path) makes the real call.
#pragma once
#include <time.h>

#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_origin.h"
#include "preload/frames/frame_change.h"
#include "preload/frames/origin_open.h"
#include "preload/frames/other_call.h"

namespace zazen {

// The daemon takes a lease to find out whether a program writes to a frame
// (daemon/worker/origins/origin.cc), and releases it at once. Meanwhile the kernel refuses an
// open that may write and does not wait. The open is repeated until only another program's
// lease can be the reason.
template <class Forward>
int open_past_lease(const Route& route, const char* path, int flags, Forward forward) {
  const int before = errno;
  int fd = forward(path);
  if (fd >= 0 || errno != EAGAIN || !route.is_served()) [[likely]]
    return fd;
  constexpr int kTries = 250;  // a quarter of a second: the daemon may be preempted
  constexpr struct timespec kPause = {0, 1'000'000};
  bool refused = may_write(flags) && (flags & O_NONBLOCK) != 0;
  for (int i = 0; i < kTries && refused; ++i) {
    raw_call(SYS_nanosleep, &kPause, nullptr);
    fd = forward(path);
    refused = fd < 0 && errno == EAGAIN;
  }
  if (fd >= 0) errno = before;
  return fd;
}

inline OtherCall other_call(int flags) {
  return may_write(flags) ? OtherCall::kWrite : OtherCall::kRead;
}

template <class Forward>
[[gnu::noinline]] int open_beside(int dirfd, const char* path, int flags, Forward forward) {
  CallBeside call(dirfd, path, other_call(flags));
  return forward(path);
}

template <class Forward>
int open_routed(const Route& route, int dirfd, const char* path, int flags, Forward forward) {
  if (!route) {
    CallBeside call(dirfd, path, other_call(flags));
    return drop_if_written(route, flags, forward(path));
  }
  if (int fd = open_copy(route, flags); fd >= 0) return fd;
  Change change(route, flags);
  int fd = open_past_lease(route, path, flags, forward);
  fd = drop_if_written(route, flags, change.done(fd));
  return origin_opened(route, flags, fd);
}

// Through /proc/self/fd no program gets a copy for writing, nor a descriptor that could change
// it.
template <class Forward>
[[gnu::noinline]] int open_behind_link(int dirfd, const char* path, int flags,
                                       Forward forward) {
  FollowedLink link(dirfd, path);
  return open_routed(link.route(), dirfd, link.path(), flags, forward);
}

template <class Forward>
int open_frame(int dirfd, const char* path, int flags, Forward forward) {
  bool only_looks = !may_write(flags) && (flags & O_PATH) == 0;
  if (only_looks && !may_be_frame(path)) [[likely]] {
    if (!CallBeside::is_wanted(path, OtherCall::kRead)) [[likely]]
      return forward(path);
    return open_beside(dirfd, path, flags, forward);
  }
  if (!only_looks && (flags & O_NOFOLLOW) == 0 && descriptor_link(path) != nullptr) {
    return open_behind_link(dirfd, path, flags, forward);
  }
  return open_routed(route_for(dirfd, path), dirfd, path, flags, forward);
}

}  // namespace zazen
