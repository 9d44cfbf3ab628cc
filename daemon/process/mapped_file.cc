#include "daemon/process/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace zazen {

void* make_mapped_file(const std::string& path, std::size_t size, UniqueFd* file) {
  ::unlink(path.c_str());
  *file =
      UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file->valid()) return nullptr;
  // The blocks are allocated, because a full disk must not become a SIGBUS in a program.
  if (int code = ::posix_fallocate(file->get(), 0, static_cast<off_t>(size)); code != 0) {
    errno = code;
    return nullptr;
  }
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

bool copies_on_write(int fd) {
  struct statfs fs = {};
  if (::fstatfs(fd, &fs) != 0) return true;
  constexpr std::uint32_t kBtrfs = 0x9123683e, kBcachefs = 0xca451a4e, kZfs = 0x2fc12fc1;
  const auto type = static_cast<std::uint32_t>(fs.f_type);
  return type == kBtrfs || type == kBcachefs || type == kZfs;
}

}  // namespace zazen
