// How a call that changes a file is led to the origin, and the copy made invalid, by whichever
// road the program names the file: its path, a link of procfs to a descriptor, a descriptor.
//
// The copy goes first, so that nobody reads it as current; it goes again afterwards, because a
// fill of the old content may have been under way.
#pragma once
#include <fcntl.h>

#include "bodhi/lean/system/raw_call.h"
#include "preload/calls/hook.h"
#include "preload/frames/copy_origin.h"
#include "preload/frames/origin_open.h"

namespace zazen {

template <class Forward>
int change_route(const Route& route, Forward forward) {
  CopyInUse copy(route);
  Change change(route, copy.before());
  return copy.renewed(change.done(forward()));
}

// The name itself, be it a link or not. forward() makes the real call.
inline Route route_of_name(int dirfd, const char* path) {
  Route route = route_for(dirfd, path);
  return route ? route : route_of_entry(dirfd, path);
}

template <class Forward>
int change_frame(int dirfd, const char* path, Forward forward) {
  Route route = route_of_name(dirfd, path);
  if (!route) [[likely]]
    return forward();
  return change_route(route, forward);
}

// The name goes. A program that has the copy open finds that out by itself (recount_links).
template <class Forward>
int remove_frame(int dirfd, const char* path, Forward forward) {
  Route route = route_of_name(dirfd, path);
  if (!route) [[likely]]
    return forward();
  Change change(route);
  return change.done(forward());
}

template <class Forward>
[[gnu::noinline]] int change_behind_link(int dirfd, const char* path, Forward forward) {
  FollowedLink link(dirfd, path);
  int result = change_route(link.route(), [&] { return forward(link.path()); });
  if (result == 0) link.renew();
  return result;
}

// The file that the name leads to. forward(path).
template <class Forward>
int change_followed(int dirfd, const char* path, Forward forward) {
  if (is_symlink(dirfd, path)) [[unlikely]]
    return change_behind_link(dirfd, path, forward);
  return change_frame(dirfd, path, [&] { return forward(path); });
}

// After an open: if it may write to a frame that its name did not tell, because it was a
// symbolic link's, the copy goes now, and if it led to the copy itself, the origin takes its
// place. Returns fd, or -1 with errno.
inline int drop_if_written(const Route& named, int flags, int fd) {
  constexpr int kNew = O_CREAT | O_EXCL;
  if (fd < 0 || !may_write(flags) || (flags & kNew) == kNew) [[likely]]
    return fd;
  fd = never_a_copy(fd, flags);
  Route route = fd < 0 ? Route{} : route_of_open(fd);
  if (!route || (route.matcher == named.matcher && route.seq == named.seq)) return fd;
  return Change(route, flags).done(fd);
}

// The file that is open. forward(fd): on the origin's file, if fd is a copy's. ESTALE if that
// is gone, as a network file system would say.
template <class Forward>
[[gnu::noinline]] int change_origin(int fd, Forward forward) {
  CopyOrigin origin;
  if (!find_origin(fd, &origin)) return forward(fd);
  RawFd file(open_origin(origin));
  if (!file.valid()) {
    errno = ESTALE;
    return -1;
  }
  Route route = route_for(AT_FDCWD, origin.path);
  // A copy of a node that this process knows nothing of loses its name all the same.
  if (route.node == nullptr) raw_call(SYS_unlinkat, AT_FDCWD, origin.copy, 0);
  int result = change_route(route, [&] { return forward(file.get()); });
  if (result == 0) renew_identity(fd, &origin);
  return result;
}

template <class Forward>
int change_open(int fd, Forward forward) {
  if (may_be_copy(fd)) [[unlikely]]
    return change_origin(fd, forward);
  return change_route(route_of_open(fd), [&] { return forward(fd); });
}

// The calls with a directory and AT_ flags: one of the three. forward(dirfd, path).
template <class Forward>
int change_at(int dirfd, const char* path, int flags, Forward forward) {
  bool by_fd = (flags & AT_EMPTY_PATH) != 0 && is_empty_string(path);
  if (by_fd) return change_open(dirfd, [&](int fd) { return forward(fd, path); });
  if ((flags & AT_SYMLINK_NOFOLLOW) != 0) {
    return change_frame(dirfd, path, [&] { return forward(dirfd, path); });
  }
  return change_followed(dirfd, path, [&](const char* name) { return forward(dirfd, name); });
}

}  // namespace zazen
