#include "daemon/disk/cache_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <string_view>

#include "bodhi/lean/frames/identity.h"
#include "daemon/process/beneath.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

constexpr char kTemporariesDirectory[] = "tmp";

void remove_files(int directory_fd, std::string_view suffix) {
  DIR* directory =
      ::fdopendir(open_beneath(directory_fd, ".", O_RDONLY | O_DIRECTORY).release());
  if (directory == nullptr) return;
  while (dirent* entry = ::readdir(directory)) {
    std::string_view name = entry->d_name;
    if (name[0] != '.' && name.ends_with(suffix)) ::unlinkat(directory_fd, entry->d_name, 0);
  }
  ::closedir(directory);
}

// ENOSYS: the kernel or the file system does not have this call.
int sync_range(int fd, std::uint64_t first, std::uint64_t bytes, unsigned what) {
  if (::sync_file_range(fd, static_cast<off_t>(first), static_cast<off_t>(bytes), what) == 0)
    return 0;
  return errno == EPERM || errno == EINVAL ? ENOSYS : errno;
}

}  // namespace

Temporary::Temporary(Temporary&& other) noexcept
    : fd_(std::move(other.fd_)),
      named_in_fd_(std::exchange(other.named_in_fd_, -1)),
      name_(std::move(other.name_)) {}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  if (this != &other) {
    discard();
    fd_ = std::move(other.fd_);
    named_in_fd_ = std::exchange(other.named_in_fd_, -1);
    name_ = std::move(other.name_);
  }
  return *this;
}

// The size stays 0, so that after a crash no zeros pass for data that was not written.
int Temporary::allocate(std::uint64_t bytes) const {
  if (bytes == 0) return 0;
  if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return 0;
  return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
}

int Temporary::write_failure() const {
  const int code = sync_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE);
  if (code != ENOSYS) return code;
  return ::fsync(fd_.get()) == 0 ? 0 : errno;
}

// A read lease needs a read-only descriptor, and our own descriptor for writing would refuse
// it.
int Temporary::seal_content() {
  const std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
  // O_NONBLOCK: a worker that somebody has taken over may have a lease on the file.
  UniqueFd reading(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!reading.valid()) return errno == EWOULDBLOCK ? EBUSY : errno;
  fd_ = std::move(reading);
  if (::fcntl(fd_.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? EBUSY : errno;
  ::fcntl(fd_.get(), F_SETLEASE, F_UNLCK);
  return 0;
}

int Temporary::publish(int directory_fd, const char* leaf) {
  if (named_in_fd_ >= 0) {
    if (::renameat(named_in_fd_, name_.c_str(), directory_fd, leaf) != 0) return errno;
    named_in_fd_ = -1;
    return 0;
  }
  std::string self = fmt::format("/proc/self/fd/{}", fd_.get());
  if (::linkat(AT_FDCWD, self.c_str(), directory_fd, leaf, AT_SYMLINK_FOLLOW) == 0) return 0;
  if (errno != EEXIST) return errno;
  if (::unlinkat(directory_fd, leaf, 0) != 0 && errno != ENOENT) return errno;
  bool linked = ::linkat(AT_FDCWD, self.c_str(), directory_fd, leaf, AT_SYMLINK_FOLLOW) == 0;
  return linked ? 0 : errno;
}

void Temporary::discard() {
  fd_.reset();
  if (named_in_fd_ >= 0) ::unlinkat(named_in_fd_, name_.c_str(), 0);
  named_in_fd_ = -1;
}

Result<CacheDisk> CacheDisk::open(const std::string& cache, Temporaries temporaries) {
  std::string subject = "cache directory " + cache;
  CacheDisk disk;
  disk.root_ = UniqueFd(::open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat st = {};
  if (!disk.root_.valid() || ::fstat(disk.root_.get(), &st) != 0) return failed_call(subject);
  disk.dev_ = st.st_dev;
  disk.state_ = make_directory_beneath(disk.root_.get(), kCacheStateDirectory);
  if (!disk.state_.valid()) {
    return failed_call(subject + ": not writable", "the daemon's user must own the cache");
  }
  disk.temporaries_ = make_directory_beneath(disk.state_.get(), kTemporariesDirectory);
  if (!disk.temporaries_.valid()) return failed_call(subject + ": not writable");

  disk.named_ = temporaries == Temporaries::kNamed;
  Temporary probe = disk.make_temporary(disk.state_.get());
  if (probe.fd() < 0 && !disk.named_ &&
      (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    disk.named_ = true;
    probe = disk.make_temporary(disk.state_.get());
  }
  if (probe.fd() < 0) return failed_call(subject + ": cannot make a file in it");
  OriginIdentity identity = {};
  identity.version = kIdentityVersion;
  if (int code = write_identity(probe.fd(), identity); code != 0) {
    errno = code;
    return failed_call(subject + ": its file system does not keep user extended attributes",
                       "put the cache on a local ext4, xfs or btrfs file system");
  }
  return disk;
}

void CacheDisk::sweep() const {
  remove_files(temporaries_.get(), "");
  sweep_state(state_.get());
}

void CacheDisk::sweep_state(int state_fd) {
  remove_files(state_fd, ".new");
}

Temporary CacheDisk::make_temporary(int directory_fd) const {
  if (!named_) {
    UniqueFd fd(::openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return Temporary(std::move(fd), -1, {});
  }
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return {};
  std::string name = fmt::format("{:016x}", number);
  UniqueFd fd(::openat(temporaries_.get(), name.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return {};
  return Temporary(std::move(fd), temporaries_.get(), std::move(name));
}

DiskRoom CacheDisk::room() const {
  constexpr auto kUnknown = std::numeric_limits<std::uint64_t>::max();
  struct statvfs fs = {};
  constexpr std::uint64_t kVeryMany = kUnknown / 4;  // can be added to
  if (::fstatvfs(root_.get(), &fs) != 0) return {kUnknown, kUnknown, kVeryMany, kVeryMany};
  // Some file systems (btrfs) have no fixed number of files and say 0.
  bool counts_files = fs.f_files != 0;
  return {std::uint64_t{fs.f_bavail} * fs.f_frsize, counts_files ? fs.f_favail : kUnknown,
          std::uint64_t{fs.f_blocks - fs.f_bfree} * fs.f_frsize,
          counts_files ? fs.f_files - fs.f_ffree : kVeryMany,
          std::uint64_t{fs.f_blocks} * fs.f_frsize};
}

int sync_disk(int directory) {
  return ::syncfs(directory) == 0 ? 0 : errno;
}

int CacheDisk::sync() const {
  UniqueFd own(::openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return own.valid() ? sync_disk(own.get()) : errno;
}

int CacheDisk::probe() const {
  auto failure = [] { return is_out_of_room(errno) ? 0 : errno; };
  char written[4096], read[sizeof written];
  if (::getrandom(written, sizeof written, 0) != sizeof written) return 0;
  Temporary file = make_temporary(state_.get());
  if (file.fd() < 0) return failure();
  if (::pwrite(file.fd(), written, sizeof written, 0) != sizeof written) return failure();
  if (::fsync(file.fd()) != 0) return failure();
  ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);  // from the disk, not from memory
  if (::pread(file.fd(), read, sizeof read, 0) != sizeof read) return EIO;
  return std::memcmp(written, read, sizeof read) == 0 ? 0 : EIO;
}

}  // namespace zazen
