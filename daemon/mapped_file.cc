#include "daemon/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace zazen {

void* make_mapped_file(const std::string& path, std::size_t size, UniqueFd* file) {
  ::unlink(path.c_str());
  *file =
      UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file->valid()) return nullptr;
  // Allocated, not only sized: a full disk must not become a SIGBUS in somebody's program.
  if (int code = ::posix_fallocate(file->get(), 0, static_cast<off_t>(size)); code != 0) {
    errno = code;
    return nullptr;
  }
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace zazen
