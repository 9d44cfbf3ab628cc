#include "daemon/process/secure_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bodhi/common/unique_fd.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

Status make_with_parents(const std::string& path, const std::string& subject) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    bool last = slash == std::string::npos;
    std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), last ? 0700 : 0755) != 0 && errno != EEXIST) {
      return failed_call(subject + ": cannot make " + part);
    }
    if (last) return Done{};
  }
}

Result<UniqueFd> open_own_directory(const std::string& path, const std::string& subject) {
  struct stat st = {};
  if (::lstat(path.c_str(), &st) != 0) return failed_call(subject);
  if (S_ISLNK(st.st_mode)) {
    return Error{ELOOP, subject + ": is a symbolic link", "name the directory itself"};
  }
  if (!S_ISDIR(st.st_mode)) return Error{ENOTDIR, subject + ": is not a directory", {}};

  // The checks from here on use the descriptor, so that they are about the directory that was
  // opened.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) return failed_call(subject);
  if (st.st_uid != ::geteuid()) {
    return Error{EPERM,
                 fmt::format("{}: is owned by uid {}, and this daemon runs as uid {}", subject,
                             st.st_uid, ::geteuid()),
                 "name another directory, or run zazend as its owner"};
  }
  return fd;
}

Result<UniqueFd> make_own_directory(const std::string& path, const std::string& subject) {
  struct stat st = {};
  if (::lstat(path.c_str(), &st) != 0) {
    if (Status made = make_with_parents(path, subject); !made.ok()) return made.error();
  }
  return open_own_directory(path, subject);
}

Status require_closed(int fd, const std::string& path, const std::string& subject) {
  struct stat st = {};
  if (::fstat(fd, &st) != 0) return failed_call(subject);
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0) return Done{};
  return Error{EPERM,
               fmt::format("{}: is writable by group or others (mode {:04o})", subject,
                           st.st_mode & 07777),
               fmt::format("chmod go-w {}", path)};
}

// The directory could be made: its nearest parent that exists may be written to.
Status check_makeable(const std::string& path, const std::string& subject) {
  std::string parent = path;
  struct stat st = {};
  do {
    parent.erase(std::max<std::size_t>(parent.rfind('/'), 1));
  } while (::stat(parent.c_str(), &st) != 0 && errno == ENOENT && parent != "/");
  if (::stat(parent.c_str(), &st) != 0) return failed_call(subject);
  if (::faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return Done{};
  return failed_call(subject + ": cannot be made in " + parent);
}

// An owner of a parent directory, or a user who may write to it, could replace our directory.
Status require_secure_parents(const std::string& path, const std::string& subject) {
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
       slash = slash == 0 ? std::string::npos : path.rfind('/', slash - 1)) {
    std::string parent = slash == 0 ? "/" : path.substr(0, slash);
    struct stat st = {};
    if (::stat(parent.c_str(), &st) != 0) {
      if (errno == ENOENT) continue;  // of a directory that is still to be made
      return failed_call(subject);
    }
    bool shared = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0;
    bool strange = st.st_uid != 0 && st.st_uid != ::geteuid();
    if (!shared && !strange) continue;
    return Error{EPERM,
                 fmt::format("{}: others could replace it: {} is owned by uid {}, mode {:04o}",
                             subject, parent, st.st_uid, st.st_mode & 07777),
                 "name a directory that only root can rearrange"};
  }
  return Done{};
}

}  // namespace

Status require_secure_directory(const std::string& path, const char* what, mode_t mode) {
  std::string subject = fmt::format("{} {}", what, path);
  Result<UniqueFd> fd = make_own_directory(path, subject);
  if (!fd.ok()) return fd.error();
  if (Status closed = require_closed(fd->get(), path, subject); !closed) return closed;
  struct stat st = {};
  if (::fstat(fd->get(), &st) != 0) return failed_call(subject);
  if ((mode & (S_IRWXG | S_IRWXO)) == 0) {
    // A daemon for all users left this mode: the files below may still be open to them.
    bool was_everybodys = ::geteuid() == 0 && (st.st_mode & 0777) == 0711;
    if (was_everybodys && ::fchmod(fd->get(), 0700) != 0) return failed_call(subject);
    return Done{};
  }
  if (::fchmod(fd->get(), (st.st_mode & 07777) | mode) != 0) return failed_call(subject);
  return require_secure_parents(path, subject);
}

Status check_secure_directory(const std::string& path, const char* what, mode_t mode) {
  const std::string subject = fmt::format("{} {}", what, path);
  struct stat st = {};
  const bool is_there = ::lstat(path.c_str(), &st) == 0;
  if (!is_there && errno != ENOENT) return failed_call(subject);
  if (!is_there) {
    if (Status makeable = check_makeable(path, subject); !makeable) return makeable;
  } else {
    const Result<UniqueFd> fd = open_own_directory(path, subject);
    if (!fd.ok()) return fd.error();
    if (Status closed = require_closed(fd->get(), path, subject); !closed) return closed;
  }
  const bool is_open = (mode & (S_IRWXG | S_IRWXO)) != 0;
  return is_open ? require_secure_parents(path, subject) : Status(Done{});
}

Status require_shared_directory(const std::string& path, const char* what) {
  std::string subject = fmt::format("{} {}", what, path);
  Result<UniqueFd> fd = make_own_directory(path, subject);
  if (!fd.ok()) return fd.error();
  if (::fchmod(fd->get(), 01777) != 0) return failed_call(subject);
  return Done{};
}

}  // namespace zazen
