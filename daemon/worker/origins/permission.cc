#include "daemon/worker/origins/permission.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bodhi/common/unique_fd.h"
#include "daemon/process/beneath.h"

namespace zazen {
namespace {

// Checks the effective user, as every open does. (libc's faccessat checks the real user on some
// kernels.)
bool may_access(int directory_fd, const char* path, int mode) {
  return ::syscall(SYS_faccessat2, directory_fd, path, mode, AT_EACCESS) == 0;
}

std::string frame_directory_of(const DatasetConfig& dataset) {
  std::string below(dataset.name.directory(), dataset.name.directory_length());
  return below.empty() ? "." : below;
}

}  // namespace

int ask_permission(Wish wish, const DatasetConfig& dataset) {
  UniqueFd directory(::open(dataset.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return errno;
  UniqueFd frames =
      open_beneath(directory.get(), frame_directory_of(dataset).c_str(), O_PATH | O_DIRECTORY);
  if (!frames.valid()) return errno;
  struct stat st = {};
  if (::fstat(frames.get(), &st) != 0) return errno;
  const bool owner = st.st_uid == ::geteuid();
  if (wish == Wish::kManage) return owner ? 0 : EACCES;
  // Where users may not remove each other's files, they may not hide them either.
  if (wish == Wish::kVouch && (st.st_mode & S_ISVTX) != 0 && !owner) return EACCES;
  int mode = wish == Wish::kSearch ? X_OK : wish == Wish::kList ? R_OK | X_OK : W_OK | X_OK;
  return may_access(frames.get(), ".", mode) ? 0 : errno;
}

bool may_change(const DatasetConfig& dataset, const std::string& name) {
  if (ask_permission(Wish::kWrite, dataset) == 0) return true;
  UniqueFd directory(::open(dataset.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return false;
  std::size_t slash = name.rfind('/');
  std::string parent = slash == std::string::npos ? "." : name.substr(0, slash);
  UniqueFd holder = open_beneath(directory.get(), parent.c_str(), O_PATH | O_DIRECTORY);
  if (!holder.valid()) return false;
  if (may_access(holder.get(), ".", W_OK | X_OK)) return true;
  UniqueFd frame = open_beneath(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW);
  struct stat st = {};
  if (!frame.valid() || ::fstat(frame.get(), &st) != 0) return false;
  return st.st_uid == ::geteuid() || may_access(directory.get(), name.c_str(), W_OK);
}

// The kernel's name of the opened directory is compared, so that a link that is swapped in
// leads nowhere.
int check_own_directory(const std::string& path, bool may_be_anybodys) {
  const UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st = {};
  if (!directory.valid() || ::fstat(directory.get(), &st) != 0) return errno;
  const std::string self = "/proc/self/fd/" + std::to_string(directory.get());
  char real[kMaxPath] = {};
  const ssize_t length = ::readlink(self.c_str(), real, sizeof real);
  if (length < 0) return errno;
  if (path != std::string_view(real, static_cast<std::size_t>(length))) return ELOOP;
  const bool is_own = may_be_anybodys || ::geteuid() == 0 || st.st_uid == ::geteuid();
  return is_own ? 0 : EACCES;
}

}  // namespace zazen
