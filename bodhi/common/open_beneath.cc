#include "bodhi/common/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <cstdint>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

UniqueFd open_resolved(int directory_fd, const char* path, int flags, std::uint64_t resolve) {
  struct open_how how = {};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | resolve;
  const long fd = raw_call(SYS_openat2, directory_fd, path, &how, sizeof how);
  if (fd < 0) {
    errno = static_cast<int>(-fd);
    return {};
  }
  return UniqueFd(static_cast<int>(fd));
}

}  // namespace

UniqueFd open_beneath(int directory_fd, const char* path, int flags) {
  return open_resolved(directory_fd, path, flags, 0);
}

UniqueFd open_entry(int directory_fd, const char* name, int flags) {
  return open_resolved(directory_fd, name, flags, RESOLVE_NO_XDEV);
}

}  // namespace zazen
