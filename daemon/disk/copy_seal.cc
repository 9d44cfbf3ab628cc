#include "daemon/disk/copy_seal.h"

#include <cerrno>

namespace zazen {

int seal_copy(int fd, const OriginIdentity& identity, const timespec& atime,
              const timespec& mtime) {
  // The attribute first: it needs the write bit, which the copy's mode lacks.
  if (int code = write_identity(fd, identity); code != 0) return code;
  // The copy starts with the origin's access time; after that, reads change it as usual.
  const timespec times[] = {atime, mtime};
  if (::futimens(fd, times) != 0) return errno;
  return ::fchmod(fd, kCopyMode) == 0 ? 0 : errno;
}

}  // namespace zazen
