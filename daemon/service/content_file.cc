#include "daemon/service/content_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace zazen {

UniqueFd content_file(const void* content, std::size_t size) {
  UniqueFd fd(::memfd_create("zazen", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fd;
  const char* bytes = static_cast<const char*>(content);
  for (std::size_t done = 0; done < size;) {
    ssize_t written = ::pwrite(fd.get(), bytes + done, size - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return UniqueFd();
    done += static_cast<std::size_t>(written);
  }
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return fd;
}

}  // namespace zazen
