// CopyOrigin: leads from an open copy back to the origin's file.
//
// A copy is at the origin's own path below the cache root (D4). So the kernel's name of an open
// copy, in /proc/self/fd, ends with the origin's path. Changes that must not reach a copy (its
// mode, owner, times and attributes, a second name, a writer) go to that file instead.
//
// The same links of procfs are paths that programs use: /proc/self/fd/3, /dev/fd/3, /dev/stdin.
// The text of a path tells whether it may be such a link; only then the file system is asked.
// Every function here keeps errno.
#pragma once
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/system/raw_call.h"
#include "preload/frames/route.h"

namespace zazen {

struct CopyOrigin {
  OriginIdentity identity;
  char copy[2 * kMaxPath + kMaxTemplate + 64];  // its name in the cache, "" if there is none
  const char* path = nullptr;                   // the origin's path, in `copy`; null: unknown
  bool is_there = false;                        // the file that was copied still has that path
};

// By its plain stat, fd may be a copy's. Callers with small stacks ask this first. One fstat.
bool may_be_copy(int fd);

// By its stat, and the directories of the datasets that this process knows, the file may be one
// of a dataset. The check asks no file server about files of others.
bool may_be_of_dataset(const struct stat& st);

// False: fd is no copy's; then it costs one fstat.
bool find_origin(int fd, CopyOrigin* origin);

// The frame that an open file other than a copy is, by the kernel's name for it. Costs one
// fstat if the file is on no dataset's device. Costs one more readlink if this process has not
// looked at all datasets' directories.
Route route_of_open(int fd);
// The path names a symbolic link, possibly one of procfs. Costs one lstat.
bool is_symlink(int dirfd, const char* path);
bool is_proc_link(int dirfd, const char* path);

// For the result of an open that may write. If fd is a copy's, returns a descriptor of the
// origin's file instead, or -1 with errno. Otherwise returns fd.
int never_a_copy(int fd, int flags);

// Opens the origin's file for reading. -1: it is gone, or this process may not read it.
int open_origin(const CopyOrigin& origin);

// Answers a question about an open file: forward(fd), with the origin's fd if fd is a copy's
// and the origin exists.
template <class Forward>
[[gnu::noinline]] int ask_origin(int fd, Forward forward) {
  CopyOrigin origin;
  if (!find_origin(fd, &origin)) return forward(fd);
  RawFd file(open_origin(origin));
  return forward(file.valid() ? file.get() : fd);
}
template <class Forward>
int ask_open(int fd, Forward forward) {
  return may_be_copy(fd) ? ask_origin(fd, forward) : forward(fd);
}

// Replaces origin->copy by the text that the kernel would show for the origin's file in
// /proc/self/fd. Returns its length, 0 if unknown.
std::size_t name_in_proc(CopyOrigin* origin);

// To be called after a change at the origin. A copy that has lost its name gets the origin's
// present identity, as long as it has the same bytes. A copy that has a name is never touched.
// `room` is a buffer.
void renew_identity(int copy_fd, CopyOrigin* room);

// CopyInUse: surrounds a change by name. If a program has the frame's copy open, the copy shows
// the origin's new identity afterwards. Without a frame or a copy it does nothing. A copy that
// belongs to another user, as with a daemon for all users, cannot be changed from here.
class CopyInUse {
 public:
  explicit CopyInUse(const Route& route);
  int renewed(int result) const {  // after the real call; passes its result through
    if (result == 0 && copy_.valid()) renew_copy();
    return result;
  }
  const CopyBefore& before() const { return before_; }

 private:
  void renew_copy() const;

  const Route& route_;
  CopyBefore before_;  // read before the copy is opened
  RawFd copy_, origin_;
};

// For an open copy that has lost its name, because the frame was changed or the cache was full.
// Sets the frame's present number of links, and when it changed. If the frame has lost its
// path, it has one link fewer.
void recount_links(int fd, OriginIdentity* identity);
// The same by a path that leads to it: /proc/self/fd/3.
void recount_links_at(int dirfd, const char* path, OriginIdentity* identity);

// The path, if by its text it may be a link of procfs to a descriptor. That link, if the path
// is /dev/stdin or a similar name. Null otherwise.
const char* descriptor_link(const char* path);

// FollowedLink: a path that may be a link, as a name for changes. If the link leads to a copy:
// the origin's path, or a path that does not exist if the origin is gone. Otherwise the path
// itself.
class FollowedLink {
 public:
  FollowedLink(int dirfd, const char* path);
  const char* path() const { return path_; }
  // The same for a question: if the origin is gone, the link itself.
  const char* path_to_ask() const {
    return leads_to_copy_ && !origin_.is_there ? link_ : path_;
  }
  // The frame that path() means.
  const Route& route() const { return route_; }
  // Null: the link does not lead to a copy.
  const CopyOrigin* origin() const { return leads_to_copy_ ? &origin_ : nullptr; }
  CopyOrigin* origin() { return leads_to_copy_ ? &origin_ : nullptr; }
  // To be called after a change; see renew_identity.
  void renew();

 private:
  void follow(const struct stat& file);

  const int dirfd_;
  const char* const link_;
  const char* path_;
  Route route_;
  bool leads_to_copy_ = false;
  CopyOrigin origin_;
};

// Answers a question about a path: forward(path), with the origin's path if the path is a link
// to an open copy and the origin exists.
template <class Forward>
[[gnu::noinline]] int ask_behind_link(int dirfd, const char* path, Forward forward) {
  FollowedLink link(dirfd, path);
  return forward(link.path_to_ask());
}
template <class Forward>
int ask_path(int dirfd, const char* path, Forward forward) {
  if (descriptor_link(path) == nullptr) [[likely]]
    return forward(path);
  return ask_behind_link(dirfd, path, forward);
}

}  // namespace zazen
