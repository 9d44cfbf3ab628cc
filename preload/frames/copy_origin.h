// CopyOrigin: from a copy that somebody has open back to the origin's file.
//
// A copy lies at the origin's own path below the cache root (D4), so the kernel's name of an
// open copy, in /proc/self/fd, ends with the origin's. What must not happen to a copy (its
// mode, owner, times and attributes, a second name, a writer) happens to that file instead.
//
// The same links of procfs are paths that programs use: /proc/self/fd/3, /dev/fd/3,
// /dev/stdin. Which paths may be such links is asked of the text alone; only then the file
// system is asked. Every function here keeps errno.
#pragma once
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/system/raw_call.h"
#include "preload/frames/route.h"

namespace zazen {

struct CopyOrigin {
  OriginIdentity identity;
  char copy[2 * kMaxPath + kMaxTemplate + 64];  // its name in the cache, "" if there is none
  const char* path = nullptr;                   // the origin's, within `copy`; null: unknown
  bool is_there = false;                        // and it still means the file that was copied
};

// By its plain stat, fd may be a copy's: asked first, where stacks may be small. One fstat.
bool may_be_copy(int fd);

// By what stat says, and this process knows of the datasets' directories, it may be a file of
// one. No file server is asked for the sake of a file that is none of its own.
bool may_be_of_dataset(const struct stat& st);

// False: fd is no copy's. Costs one fstat then.
bool find_origin(int fd, CopyOrigin* origin);

// For a file that is no copy: the frame that it is, by the name that the kernel knows it by.
// Costs one fstat, if it is on no dataset's device; one readlink more where this process has
// not looked at all datasets' directories.
Route route_of_open(int fd);
// The name is a symbolic link's, be it one of procfs. Costs one lstat.
bool is_symlink(int dirfd, const char* path);
bool is_proc_link(int dirfd, const char* path);

// After an open that may write: had it led to a copy, by whatever name, fd is the origin's file
// now, or -1 with errno. Otherwise it is fd.
int never_a_copy(int fd, int flags);

// The origin's file for reading, or -1: it is gone, or may no longer be read.
int open_origin(const CopyOrigin& origin);

// A question about an open file: forward(fd), the origin's, if fd is a copy's and that is
// there.
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

// What the kernel would say of the origin's file in /proc/self/fd takes the place of
// origin->copy; its length, 0 if unknown.
std::size_t name_in_proc(CopyOrigin* origin);

// After a change at the origin: a copy that has lost its name shows what the origin says now,
// as long as it has the same bytes. One that still has a name is never touched.
// `room` is for its own use.
void renew_identity(int copy_fd, CopyOrigin* room);

// A change by name, from before it to after it: a frame's copy that somebody has open shows
// what the origin says then. Without a frame, or without a copy, it does nothing. Where the
// copy is another user's, as with a daemon for all users, it cannot be changed from here.
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

// For an open copy that has lost its name, because the frame was changed or the cache was full:
// how many names the frame has now. If it has none where it was, it has one fewer.
void recount_links(int fd, OriginIdentity* identity);

// The path, if by its text it may be a link of procfs to a descriptor; that link, if the path
// is /dev/stdin or its like; null otherwise.
const char* descriptor_link(const char* path);

// A path that may be a link, as a name for changes: the origin's, if the link leads to a copy;
// one that does not exist, if that origin is gone; the path itself otherwise.
class FollowedLink {
 public:
  FollowedLink(int dirfd, const char* path);
  const char* path() const { return path_; }
  // The same for a question: the link itself, if the origin is gone.
  const char* path_to_ask() const {
    return leads_to_copy_ && !origin_.is_there ? link_ : path_;
  }
  // The frame that path() means.
  const Route& route() const { return route_; }
  // Null: the link does not lead to a copy.
  const CopyOrigin* origin() const { return leads_to_copy_ ? &origin_ : nullptr; }
  CopyOrigin* origin() { return leads_to_copy_ ? &origin_ : nullptr; }
  // After a change; see renew_identity.
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

}  // namespace zazen
