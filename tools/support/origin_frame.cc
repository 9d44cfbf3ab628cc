#include "tools/support/origin_frame.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstring>

#include "tools/support/past_the_shim.h"

namespace zazen {

Result<OpenOriginFrame> open_origin_frame(int directory_fd, const std::string& name) {
  UniqueFd origin(static_cast<int>(
      past_the_shim(SYS_openat, directory_fd, name.c_str(),
                    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)));
  if (!origin.valid() && errno == ELOOP) {
    return Error{ELOOP, "a symbolic link, which is not cached", {}};
  }
  struct stat st;
  if (!origin.valid() || past_the_shim(SYS_fstat, origin.get(), &st) != 0) {
    return Error{errno, std::strerror(errno), {}};
  }
  if (!S_ISREG(st.st_mode)) return Error{EINVAL, "not a regular file", {}};
  return OpenOriginFrame{std::move(origin), static_cast<std::uint64_t>(st.st_size), st};
}

}  // namespace zazen
