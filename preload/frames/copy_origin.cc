#include "preload/frames/copy_origin.h"

#include <cstring>

#include "bodhi/lean/system/published_file.h"
#include "bodhi/lean/system/signals_off.h"
#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_identity.h"
#include "preload/frames/daemon_link.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

constexpr char kDeleted[] = " (deleted)";  // what the kernel appends to a lost name
constexpr std::size_t kMaxName = sizeof CopyOrigin::copy;
constexpr char kNowhere[] = "/proc/self/fd/none";

bool is_watching() {
  return settings.active && !guard_is_raised();
}

// The target of a link of procfs; 0 if that is no path or does not fit.
std::size_t read_proc_link(int dirfd, const char* link, char* out, std::size_t capacity) {
  ssize_t length = raw::readlinkat(dirfd, link, out, capacity);
  if (length <= 0 || static_cast<std::size_t>(length) >= capacity || out[0] != '/') return 0;
  out[length] = '\0';
  return static_cast<std::size_t>(length);
}

// The kernel's name for an open file; 0 as above.
std::size_t name_of_fd(int fd, char* out, std::size_t capacity) {
  return read_proc_link(AT_FDCWD, raw::FdLink(fd).text(), out, capacity);
}

Route route_by_name(int fd, char (&name)[kMaxName]) {
  return name_of_fd(fd, name, sizeof name) == 0 ? Route{} : route_for(AT_FDCWD, name);
}
// A separate function, because of its buffer: most callers return earlier, and their stack may
// be small.
[[gnu::noinline]] Route route_by_name(int fd) {
  char name[kMaxName];
  return route_by_name(fd, name);
}

std::int64_t to_ns(const struct statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// It is the copied file, though a program may have written to it since.
bool is_origin(const struct stat& st, const OriginIdentity& identity) {
  return S_ISREG(st.st_mode) && st.st_ino == identity.ino;
}
// A new file may have the inode number of the one that was copied. One that a layered file
// system has copied is no new file, and keeps its mtime.
bool was_made_later(const struct statx& st, const OriginIdentity& identity) {
  return (st.stx_mask & STATX_BTIME) != 0 && to_ns(st.stx_btime) > identity.ctime_ns &&
         to_ns(st.stx_mtime) != identity.mtime_ns;
}

// Finds the part of the copy's name that is the origin's path: by the file itself or, if that
// is gone, by the table.
void find_path(CopyOrigin* origin) {
  const char* first = std::strchr(origin->copy + 1, '/');
  for (const char* tail = first; tail != nullptr; tail = std::strchr(tail + 1, '/')) {
    struct stat st;
    if (raw::fstatat(AT_FDCWD, tail, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_origin(st, origin->identity)) {
      origin->path = tail;
      origin->is_there = true;
      return;
    }
  }
  for (const char* tail = first; tail != nullptr; tail = std::strchr(tail + 1, '/')) {
    if (route_for(AT_FDCWD, tail)) {
      origin->path = tail;
      return;
    }
  }
}

// Setting an attribute needs the write bit, except for root.
bool set_identity(int copy_fd, const OriginIdentity& identity) {
  if (write_identity(copy_fd, identity) == 0) return true;
  if (raw::status(SYS_fchmod, copy_fd, kCopyMode | S_IWUSR) != 0) return false;
  bool set = write_identity(copy_fd, identity) == 0;
  raw::status(SYS_fchmod, copy_fd, kCopyMode);
  return set;
}

// Renews the attribute from the origin's present stat.
void renew(int copy_fd, const OriginIdentity& identity, const struct stat& st, FrameKind kind) {
  struct stat local;
  if (raw::fstat(copy_fd, &local) != 0 || local.st_nlink != 0 || !is_origin(st, identity) ||
      static_cast<std::uint64_t>(st.st_size) != identity.size) {
    return;
  }
  set_identity(copy_fd, identity_of(st, kind, identity.checksum));
  const struct timespec times[2] = {st.st_atim, {0, UTIME_OMIT}};
  raw::status(SYS_utimensat, copy_fd, nullptr, times, 0);
}

// A separate function, because of its buffers.
[[gnu::noinline]] int open_copy_of(const Route& route, CopyBefore::Name* name) {
  CopyPath copy(route, alloca(CopyPath::room(route)));
  if (!copy) return -1;
  const long fd = raw_call(SYS_openat, AT_FDCWD, copy.text, O_RDONLY | O_CLOEXEC, 0);
  *name = CopyBefore::name_by(fd);
  return fd < 0 ? -1 : static_cast<int>(fd);
}
[[gnu::noinline]] int open_origin_of(const Route& route) {
  ErrnoKeeper keep;
  const std::size_t room = origin_path_room(*route.matcher);
  char* path = static_cast<char*>(alloca(room));
  return origin_path(*route.matcher, route.seq, path, room)
             ? raw::openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0)
             : -1;
}

// The copy's name, without the kernel's suffix for a deleted one, and the origin's.
void find_names(int fd, CopyOrigin* origin) {
  origin->path = nullptr;
  origin->is_there = false;
  std::size_t length = name_of_fd(fd, origin->copy, sizeof origin->copy);
  origin->copy[length] = '\0';
  if (length == 0) return;
  constexpr std::size_t kTail = sizeof kDeleted - 1;
  // Counts the links after reading the name: another process may drop the copy in between.
  struct stat local;
  if (length > kTail && std::memcmp(origin->copy + length - kTail, kDeleted, kTail) == 0 &&
      raw::fstat(fd, &local) == 0 && local.st_nlink == 0) {
    origin->copy[length - kTail] = '\0';
  }
  find_path(origin);
}

// An open followed a name that hid a copy, and O_TRUNC may have emptied the copy. The copy
// loses its name, and the program gets the origin's file.
[[gnu::noinline]] int open_origin_instead(int fd, int flags) {
  CopyOrigin origin;
  struct stat local;
  // Any program could have set the attribute on its own file.
  if (raw::fstat(fd, &local) != 0 || !owner_is_trusted(local) ||
      read_identity(fd, &origin.identity) != 0) {
    return fd;
  }
  find_names(fd, &origin);
  if (Route route = route_for(AT_FDCWD, origin.path)) {
    invalidate_copy(route);
  } else if (local.st_nlink != 0) {
    raw::unlinkat(AT_FDCWD, origin.copy, 0);
  }
  RawFd file(origin.is_there ? raw::openat(AT_FDCWD, origin.path,
                                           (flags & ~(O_CREAT | O_EXCL)) | O_CLOEXEC, 0)
                             : -1);
  if (file.valid() && raw::dup3(file.get(), fd, flags & O_CLOEXEC) >= 0) return fd;
  int reason = file.valid() || !origin.is_there ? ENOENT : errno;
  raw::close(fd);
  errno = reason;
  return -1;
}

}  // namespace

bool may_be_of_dataset(const struct stat& st) {
  bool alive = false;
  const std::int64_t now_ms = monotonic_ms();
  const Node* node = S_ISREG(st.st_mode) ? current_node(&alive, now_ms) : nullptr;
  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    const DatasetMatcher& matcher = node->matchers[i];
    DirectoryKey key;
    if (matcher.path_length == 0) continue;
    if (!matcher.trust.directory.has_looked(now_ms)) return true;
    if (frame_directory(matcher, &key, now_ms) && key.dev == st.st_dev) return true;
  }
  return false;
}

bool is_symlink(int dirfd, const char* path) {
  ErrnoKeeper keep;
  struct stat link;
  return is_watching() && may_be_string(path) &&
         raw::fstatat(dirfd, path, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode);
}

bool is_proc_link(int dirfd, const char* path) {
  ErrnoKeeper keep;
  struct stat link, proc;
  return raw::fstatat(dirfd, path, &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode) &&
         raw::fstatat(AT_FDCWD, "/proc", &proc, 0) == 0 && link.st_dev == proc.st_dev;
}

bool may_be_copy(int fd) {
  ErrnoKeeper keep;
  struct stat st;
  return is_watching() && raw::known_fstat(fd, &st) == 0 && has_mode_of_copy(st.st_mode);
}

bool find_origin(int fd, CopyOrigin* origin) {
  if (!is_watching()) return false;
  ErrnoKeeper keep;
  struct stat local;
  dev_t dev;
  if (raw::fstat(fd, &local) != 0 || !looks_like_copy(local, local.st_dev)) [[likely]]
    return false;
  if (!identity_of_fd(fd, local, &origin->identity, &dev)) return false;
  find_names(fd, origin);
  return true;
}

Route route_of_open(int fd) {
  if (!is_watching()) return {};
  ErrnoKeeper keep;
  struct stat st;
  if (raw::known_fstat(fd, &st) != 0 || !may_be_of_dataset(st)) [[likely]]
    return {};
  return route_by_name(fd);
}

int never_a_copy(int fd, int flags) {
  struct stat st;
  if (!is_watching() || raw::known_fstat(fd, &st) != 0 || !has_mode_of_copy(st.st_mode))
      [[likely]]
    return fd;
  return open_origin_instead(fd, flags);
}

int open_origin(const CopyOrigin& origin) {
  if (!origin.is_there) return -1;
  ErrnoKeeper keep;
  RawFd file(
      raw::openat(AT_FDCWD, origin.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0));
  struct stat st;
  if (!file.valid() || raw::fstat(file.get(), &st) != 0 || !is_origin(st, origin.identity)) {
    return -1;
  }
  return file.release();
}

std::size_t name_in_proc(CopyOrigin* origin) {
  if (origin->path == nullptr) return 0;
  ErrnoKeeper keep;
  if (origin->is_there) {
    RawFd file(raw::openat(AT_FDCWD, origin->path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0));
    return file.valid() ? name_of_fd(file.get(), origin->copy, sizeof origin->copy) : 0;
  }
  std::size_t length = std::strlen(origin->path);
  if (length + sizeof kDeleted > sizeof origin->copy) return 0;
  std::memmove(origin->copy, origin->path, length);
  std::memcpy(origin->copy + length, kDeleted, sizeof kDeleted);
  return length + sizeof kDeleted - 1;
}

void renew_identity(int copy_fd, CopyOrigin* room) {
  ErrnoKeeper keep;
  struct stat st;
  if (find_origin(copy_fd, room) && room->is_there &&
      raw::fstatat(AT_FDCWD, room->path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    renew(copy_fd, room->identity, st, room->identity.kind);
  }
}

CopyInUse::CopyInUse(const Route& route)
    : route_(route),
      before_(before_change(route)),
      copy_(open_copy_of(route, &before_.name)),
      origin_(copy_.valid() ? open_origin_of(route) : -1) {}

void CopyInUse::renew_copy() const {
  OriginIdentity identity;
  struct stat st, named;
  if (!origin_.valid() || read_identity(copy_.get(), &identity) != 0 ||
      raw::fstat(origin_.get(), &st) != 0) {
    return;
  }
  RawFd again(st.st_nlink == 0 ? -1 : open_origin_of(route_));
  bool has_name =
      again.valid() && raw::fstat(again.get(), &named) == 0 && is_origin(named, identity);
  renew(copy_.get(), identity, st, has_name ? identity.kind : kLostFrame);
}

void recount_links(int fd, OriginIdentity* identity) {
  if (identity->kind == kLostFrame) return;
  ErrnoKeeper keep;
  CopyOrigin origin;
  origin.identity = *identity;
  find_names(fd, &origin);
  struct statx st;
  if (origin.is_there &&
      raw::statx(AT_FDCWD, origin.path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
                 &st) == 0 &&
      !was_made_later(st, *identity)) {
    identity->links = st.stx_nlink < kMostLinks ? st.stx_nlink : kMostLinks;
    const bool has_its_content =
        st.stx_size == identity->size && to_ns(st.stx_mtime) == identity->mtime_ns;
    if (has_its_content) identity->ctime_ns = to_ns(st.stx_ctime);
  } else if (origin.path != nullptr && identity->links > 0) {
    --identity->links;
  }
}

void recount_links_at(int dirfd, const char* path, OriginIdentity* identity) {
  ErrnoKeeper keep;
  const RawFd copy(raw::openat(dirfd, path, O_PATH | O_CLOEXEC, 0));
  if (copy.valid()) recount_links(copy.get(), identity);
}

const char* descriptor_link(const char* path) {
  if (!may_be_string(path)) return nullptr;
  while (path[0] == '/' && (path[1] == '/' || (path[1] == '.' && path[2] == '/'))) {
    path += path[1] == '/' ? 1 : 2;
  }
  bool in_dev = std::strncmp(path, "/dev/", 5) == 0;
  if (*path == '/' && !in_dev && std::strncmp(path, "/proc/", 6) != 0) [[likely]]
    return nullptr;
  const char* slash = std::strrchr(path, '/');
  const char* last = slash == nullptr ? path : slash + 1;
  if (*last == '\0') return nullptr;
  const char* digit = last;
  while (*digit >= '0' && *digit <= '9') ++digit;
  if (*digit == '\0') return path;
  if (!in_dev) return nullptr;
  if (std::strcmp(path + 5, "stdin") == 0) return "/proc/self/fd/0";
  if (std::strcmp(path + 5, "stdout") == 0) return "/proc/self/fd/1";
  if (std::strcmp(path + 5, "stderr") == 0) return "/proc/self/fd/2";
  return nullptr;
}

FollowedLink::FollowedLink(int dirfd, const char* path)
    : dirfd_(dirfd), link_(path), path_(path), route_(route_for(dirfd, path)) {
  if (!is_watching()) return;
  ErrnoKeeper keep;
  struct stat file;
  if (raw::fstatat(dirfd, link_, &file, 0) == 0 &&
      (looks_like_copy(file, file.st_dev) || may_be_of_dataset(file))) {
    follow(file);
  }
}

void FollowedLink::follow(const struct stat& file) {
  SignalsOff no_signals;  // a handler that leaves by a jump would leak the descriptor
  if (looks_like_copy(file, file.st_dev)) {
    RawFd copy(raw::openat(dirfd_, link_, O_RDONLY | O_CLOEXEC, 0));
    leads_to_copy_ = copy.valid() && find_origin(copy.get(), &origin_);
    if (leads_to_copy_ || !copy.valid()) {
      path_ = origin_.is_there ? origin_.path : kNowhere;
      route_ = route_for(AT_FDCWD, path_);
      return;
    }
  }
  RawFd frame(raw::openat(dirfd_, link_, O_PATH | O_CLOEXEC, 0));
  if (!frame.valid()) return;
  if (Route route = route_by_name(frame.get(), origin_.copy)) route_ = route;
}

void FollowedLink::renew() {
  if (!leads_to_copy_) return;
  ErrnoKeeper keep;
  RawFd copy(raw::openat(dirfd_, link_, O_RDONLY | O_CLOEXEC, 0));
  if (copy.valid()) renew_identity(copy.get(), &origin_);
}

}  // namespace zazen
