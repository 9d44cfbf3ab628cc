#include "daemon/worker/origins/origin.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>

#include "bodhi/common/open_beneath.h"
#include "bodhi/lean/frames/program_news.h"
#include "bodhi/lean/system/fd_link.h"
#include "daemon/origin/adoption.h"
#include "daemon/process/beneath.h"
#include "daemon/process/clock_tick.h"

namespace zazen {
namespace {

// Reads the descriptor's attributes without asking a server: the client may run the file system
// itself, and it may never answer.
int look_at(int fd, struct statx* out) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) return EBADF;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, out) != 0) {
    return errno;
  }
  return S_ISREG(out->stx_mode) ? 0 : EINVAL;
}

bool is_same_file(const struct statx& passed, const struct stat& named) {
  return passed.stx_ino == named.st_ino &&
         makedev(passed.stx_dev_major, passed.stx_dev_minor) == named.st_dev;
}

}  // namespace

UniqueFd find_named(const DatasetConfig& dataset, const std::string& name, int flags,
                    ReachedDirectories* reached) {
  if (reached == nullptr) {
    const UniqueFd directory(::open(dataset.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) return {};
    return open_beneath(directory.get(), name.c_str(), flags | O_NOFOLLOW);
  }
  auto [below, leaf] = split_name(name);
  const OriginWay way(dataset.path, below);
  UniqueFd named = way.open(leaf, flags | O_NOFOLLOW);
  if (named.valid()) *reached = way.directories();
  return named;
}

int verify_origin(const DatasetConfig& dataset, const std::string& name, int fd,
                  struct stat* out, ReachedDirectories* reached) {
  struct statx passed = {};
  if (int code = look_at(fd, &passed); code != 0) return code;
  UniqueFd named = find_named(dataset, name, O_PATH, reached);
  struct stat st = {};
  if (!named.valid()) return errno == ELOOP ? EPERM : errno;
  if (::fstat(named.get(), &st) != 0) return errno;
  if (!is_same_file(passed, st)) return EPERM;
  return ::fstat(fd, out) == 0 ? 0 : errno;
}

std::uint64_t file_mark(const struct stat& st) {
  return file_mark(major(st.st_dev), minor(st.st_dev), st.st_ino);
}

int open_missed(const DatasetConfig& dataset, const std::string& name,
                std::span<const std::uint64_t> marks, UniqueFd* out, struct stat* st,
                ReachedDirectories* reached) {
  *out = find_named(dataset, name, kToRead, reached);
  if (!out->valid()) return errno == ELOOP ? EPERM : errno;
  if (::fstat(out->get(), st) != 0) return errno;
  if (!S_ISREG(st->st_mode)) return EINVAL;
  if (st->st_nlink == 0) return ESTALE;  // removed since it was opened
  return std::ranges::find(marks, file_mark(*st)) != marks.end() ? 0 : EPERM;
}

UniqueFd own_description(int fd) {
  return UniqueFd(::open(FdLink(fd).text(), kToRead | O_CLOEXEC));
}

// A read lease is refused while there is a writer. It is returned at once, so it delays a new
// writer only for that time. The signal of a lease break is ignored.
std::optional<bool> knows_writer(int origin_fd, bool is_own) {
  const UniqueFd opened = is_own ? UniqueFd() : own_description(origin_fd);
  const int own = is_own ? origin_fd : opened.get();
  // EAGAIN: a process has a write lease.
  if (own < 0) return errno == EAGAIN ? std::optional(true) : std::nullopt;
  if (::fcntl(own, F_SETLEASE, F_RDLCK) != 0) {
    if (errno != EAGAIN) return std::nullopt;
    // NFS also returns this where the server has not delegated the file to this machine.
    struct statfs filesystem;
    if (::fstatfs(own, &filesystem) != 0 || filesystem.f_type == NFS_SUPER_MAGIC) {
      return std::nullopt;
    }
    return true;
  }
  ::fcntl(own, F_SETLEASE, F_UNLCK);
  return false;
}

bool times_tell_changes(int origin_fd) {
  struct statfs filesystem;
  return ::fstatfs(origin_fd, &filesystem) == 0 && filesystem.f_type != TMPFS_MAGIC &&
         filesystem.f_type != RAMFS_MAGIC && filesystem.f_type != HUGETLBFS_MAGIC &&
         filesystem.f_type != OVERLAYFS_SUPER_MAGIC;
}

bool hides_mappings(int origin_fd) {
  struct statfs filesystem;
  return ::fstatfs(origin_fd, &filesystem) != 0 || filesystem.f_type == OVERLAYFS_SUPER_MAGIC;
}

bool has_writer(int origin_fd) {
  return knows_writer(origin_fd).value_or(false);
}

OriginLook look_at_origin(const DatasetConfig& dataset, const std::string& name,
                          std::uint64_t bytes, bool all_users) {
  OriginLook look;
  OriginFacts& facts = look.origin;
  const UniqueFd origin =
      find_named(dataset, name, kToRead, all_users ? &facts.reached : nullptr);
  if (!origin.valid()) return look;
  look.is_there = ::fstat(origin.get(), &facts.st) == 0;
  if (!look.is_there) return look;
  // A later change of the rights must leave another time.
  if (all_users) outwait_clock(facts.st.st_ctim, [] { return false; });
  if (has_writer(origin.get())) {
    look.status = EBUSY;
  } else if (::fstat(origin.get(), &facts.st) != 0) {
    look.status = errno;
  } else if (!S_ISREG(facts.st.st_mode)) {
    look.status = EINVAL;
  } else if (static_cast<std::uint64_t>(facts.st.st_size) != bytes) {
    look.status = ESTALE;
  } else {
    if (bytes > 0) look.digest = sample_digest(origin.get(), bytes);
    if (all_users) facts.acl = read_acl(origin.get());
    look.status = 0;
  }
  return look;
}

}  // namespace zazen
