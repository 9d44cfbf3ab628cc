// How an open of any spelling is led: to the copy, to the origin and a fill, or to the origin
// and the copy is dropped. forward(path) makes the real call.
#pragma once
#include "preload/cached_copy.h"
#include "preload/copy_origin.h"
#include "preload/frame_change.h"
#include "preload/origin_open.h"

namespace zazen {

template <class Forward>
int open_routed(const Route& route, const char* path, int flags, Forward forward) {
  if (!route) return drop_if_written(route, flags, forward(path));
  if (int fd = open_copy(route, flags); fd >= 0) return fd;
  Change change(route, flags);
  int fd = drop_if_written(route, flags, change.done(forward(path)));
  return origin_opened(route, flags, fd);
}

// Nobody gets a copy for writing, nor for changes by its descriptor, through /proc/self/fd.
template <class Forward>
[[gnu::noinline]] int open_behind_link(int dirfd, const char* path, int flags,
                                       Forward forward) {
  FollowedLink link(dirfd, path);
  return open_routed(link.route(), link.path(), flags, forward);
}

template <class Forward>
int open_frame(int dirfd, const char* path, int flags, Forward forward) {
  bool only_looks = !may_write(flags) && (flags & O_PATH) == 0;
  if (only_looks && !may_be_frame(path)) [[likely]]
    return forward(path);
  if (!only_looks && (flags & O_NOFOLLOW) == 0 && descriptor_link(path) != nullptr) {
    return open_behind_link(dirfd, path, flags, forward);
  }
  return open_routed(route_for(dirfd, path), path, flags, forward);
}

}  // namespace zazen
