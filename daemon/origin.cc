#include "daemon/origin.h"

#include <fcntl.h>

#include "bodhi/unique_fd.h"
#include "daemon/beneath.h"

namespace zazen {

int verify_origin(const DatasetConfig& dataset, const std::string& name, int fd,
                  struct stat* out) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY) return EBADF;
  if (::fstat(fd, out) != 0) return errno;
  if (!S_ISREG(out->st_mode)) return EINVAL;

  UniqueFd directory(::open(dataset.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return errno;
  UniqueFd named = open_beneath(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW);
  struct stat st = {};
  if (!named.valid()) return errno == ELOOP ? EPERM : errno;
  if (::fstat(named.get(), &st) != 0) return errno;
  return st.st_dev == out->st_dev && st.st_ino == out->st_ino ? 0 : EPERM;
}

// A lease for reading is refused while there is a writer. It is given back at once: a writer
// who came meanwhile is held up no longer than that, and the signal that tells of him is
// ignored.
bool has_writer(int origin_fd) {
  if (::fcntl(origin_fd, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  ::fcntl(origin_fd, F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace zazen
