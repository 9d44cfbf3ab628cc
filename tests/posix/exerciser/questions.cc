// Questions about a name or a descriptor: the answers are the origin's, cached or not.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "actor.h"
#include "kernel.h"

namespace exerciser {
namespace {

struct stat as_stat(const struct statx& x) {
  struct stat st = {};
  st.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor);
  st.st_ino = x.stx_ino;
  st.st_mode = x.stx_mode;
  st.st_nlink = x.stx_nlink;
  st.st_uid = x.stx_uid;
  st.st_gid = x.stx_gid;
  st.st_size = static_cast<off_t>(x.stx_size);
  st.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec};
  st.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec};
  return st;
}

int ask_statx(bool by_syscall, int dirfd, const char* path, int flags, struct stat* st) {
  struct statx x = {};
  int result =
      by_syscall
          ? static_cast<int>(syscall(SYS_statx, dirfd, path, flags, STATX_BASIC_STATS, &x))
          : statx(dirfd, path, flags, STATX_BASIC_STATS, &x);
  if (result == 0) *st = as_stat(x);
  return result;
}

std::string proc_name(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

void Actor::stat_path() {
  Name name = any_name(Spelling::kAny);
  note_name(name);
  const char* path = name.path.c_str();
  bool follow = chance(60);
  int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  long how = random(6);
  journal_.add(" %ld %d", how, flags);
  struct stat st = {};
  struct stat64* st64 = reinterpret_cast<struct stat64*>(&st);
  int result = -1;
  if (name.dirfd == AT_FDCWD && how < 2) {
    if (how == 0) result = follow ? stat(path, &st) : lstat(path, &st);
    if (how == 1) result = follow ? stat64(path, st64) : lstat64(path, st64);
  } else if (how == 2) {
    result = fstatat64(name.dirfd, path, st64, flags);
  } else if (how <= 3) {
    result = fstatat(name.dirfd, path, &st, flags);
  } else {
    result = ask_statx(how == 5 && has("syscall"), name.dirfd, path, flags, &st);
  }
  note_relation(result, st, name.origin.c_str(), follow || name.path.ends_with('/'));
}

void Actor::stat_fd() {
  Slot* slot = any_slot(chance(20));
  if (slot == nullptr || slot->severed) return;
  note_slot(*slot);
  struct stat st = {};
  int result = -1;
  long how = random(6);
  journal_.add(" %ld", how);
  switch (how) {
    case 0:
      result = fstat(slot->fd, &st);
      break;
    case 1:
      result = fstat64(slot->fd, reinterpret_cast<struct stat64*>(&st));
      break;
    case 2:
      result = fstatat(slot->fd, "", &st, AT_EMPTY_PATH);
      break;
    case 3:
      result = ask_statx(false, slot->fd, "", AT_EMPTY_PATH, &st);
      break;
    case 4:
      result = ask_statx(has("syscall"), slot->fd, "", AT_EMPTY_PATH, &st);
      break;
    default:
      result = has("procfd") ? stat(proc_name(slot->fd).c_str(), &st) : fstat(slot->fd, &st);
      break;
  }
  note_relation(result, st, slot->name.origin.c_str(), (slot->flags & O_NOFOLLOW) == 0);
}

void Actor::ask_access() {
  Name name = any_name(Spelling::kAny);
  static const int kModes[] = {F_OK, R_OK, W_OK, X_OK, R_OK | W_OK};
  int mode = kModes[random(5)];
  note_name(name);
  journal_.add(" %d", mode);
  const char* path = name.path.c_str();
  long how = random(4);
  if (name.dirfd != AT_FDCWD || how == 0) {
    journal_.result(faccessat(name.dirfd, path, mode, chance(30) ? AT_EACCESS : 0));
  } else if (how == 1) {
    journal_.result(euidaccess(path, mode));
  } else {
    journal_.result(how == 2 ? access(path, mode) : eaccess(path, mode));
  }
}

void Actor::ask_link() {
  char text[PATH_MAX] = {};
  Slot* slot = chance(60) ? any_slot(chance(20)) : nullptr;
  if (slot != nullptr) {
    if (slot->severed) return;
    note_slot(*slot);
    journal_.result(readlink(proc_name(slot->fd).c_str(), text, sizeof text - 1));
  } else {
    Name name = any_name(Spelling::kAny);
    note_name(name);
    journal_.result(readlinkat(name.dirfd, name.path.c_str(), text, sizeof text - 1));
  }
  journal_.add(" '%s'", text);
}

void Actor::ask_real_path() {
  std::string path;
  Slot* slot = chance(50) ? any_slot(chance(20)) : nullptr;
  if (slot != nullptr) {
    if (slot->severed) return;
    note_slot(*slot);
    path = proc_name(slot->fd);
  } else {
    Name name = any_name(Spelling::kPath);
    note_name(name);
    path = name.path;
  }
  char* real =
      chance(50) ? realpath(path.c_str(), nullptr) : canonicalize_file_name(path.c_str());
  if (real == nullptr) return journal_.result(-1);
  journal_.add(" '%s'", real);
  free(real);
}

void Actor::ask_attributes() {
  char names[1000] = {}, value[100] = {};
  Slot* slot = chance(50) ? any_slot(false) : nullptr;
  if (slot != nullptr) {
    if (slot->severed || slot->is_path()) return;
    note_slot(*slot);
    long length = flistxattr(slot->fd, names, sizeof names);
    journal_.result(length);
    journal_.data(names, length);
    journal_.result(fgetxattr(slot->fd, "user.colour", value, sizeof value));
  } else {
    Name name = any_name(Spelling::kPath);
    note_name(name);
    long length = listxattr(name.path.c_str(), names, sizeof names);
    journal_.result(length);
    journal_.data(names, length);
    bool link = chance(30);
    journal_.result(link ? lgetxattr(name.path.c_str(), "user.colour", value, sizeof value)
                         : getxattr(name.path.c_str(), "user.colour", value, sizeof value));
  }
  journal_.add(" '%s'", value);
}

void Actor::ask_file_system() {
  struct statfs hooked = {}, real = {};
  Slot* slot = chance(50) ? any_slot(false) : nullptr;
  std::string origin;
  if (slot != nullptr) {
    if (slot->severed) return;
    note_slot(*slot);
    journal_.result(fstatfs(slot->fd, &hooked));
    origin = slot->name.origin;
  } else {
    Name name = frame_name(false, Spelling::kPath);
    note_name(name);
    journal_.result(statfs(name.path.c_str(), &hooked));
    origin = name.origin;
  }
  kernel::call(SYS_statfs, kernel::as_long(origin.c_str()), kernel::as_long(&real));
  if (hooked.f_type == 0) return;
  bool same = hooked.f_type == real.f_type &&
              memcmp(&hooked.f_fsid, &real.f_fsid, sizeof real.f_fsid) == 0;
  journal_.add(same ? " same" : " DIFFERS");
}

}  // namespace exerciser
