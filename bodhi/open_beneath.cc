#include "bodhi/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include "bodhi/raw_call.h"

namespace zazen {

UniqueFd open_beneath(int directory_fd, const char* path, int flags) {
  struct open_how how = {};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = raw_call(SYS_openat2, directory_fd, path, &how, sizeof how);
  if (fd < 0) {
    errno = static_cast<int>(-fd);
    return {};
  }
  return UniqueFd(static_cast<int>(fd));
}

}  // namespace zazen
