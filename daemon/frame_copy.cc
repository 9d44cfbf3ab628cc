#include "daemon/frame_copy.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bodhi/identity.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::size_t kAlignment = 4096;  // a program may have opened the origin O_DIRECT

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
struct FreeHash {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

int write_all(int fd, const char* bytes, std::size_t size, off_t offset) {
  while (size > 0) {
    ssize_t written = ::pwrite(fd, bytes, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    size -= static_cast<std::size_t>(written);
    offset += written;
  }
  return 0;
}

// Fewer blocks than bytes: a copy without its holes would not look the same (SEEK_HOLE), and
// take more room.
bool has_holes(const struct stat& origin) {
  return origin.st_blocks * 512 < origin.st_size;
}

bool is_zero(const char* bytes, std::size_t size) {
  return bytes[0] == '\0' && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

// Leaves out the pages that are all zero.
int write_pages(int fd, const char* bytes, std::size_t size, off_t offset) {
  while (size > 0) {
    std::size_t page =
        std::min(size, kAlignment - static_cast<std::size_t>(offset) % kAlignment);
    int code = is_zero(bytes, page) ? 0 : write_all(fd, bytes, page, offset);
    if (code != 0) return code;
    bytes += page;
    size -= page;
    offset += static_cast<off_t>(page);
  }
  return 0;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

int FrameCopy::allocate() {
  if (before_.st_size == 0 || has_holes(before_)) return 0;
  // The size stays 0: should a crash lose what is written next, no zeros pass for data.
  if (::fallocate(target_.fd(), FALLOC_FL_KEEP_SIZE, 0, before_.st_size) == 0) return 0;
  return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : errno;
}

int FrameCopy::transfer(const std::function<bool()>& give_up) {
  std::unique_ptr<void, Free> memory(std::aligned_alloc(kAlignment, kPieceBytes));
  std::unique_ptr<XXH3_state_t, FreeHash> hash(XXH3_createState());
  if (!memory || !hash) return ENOMEM;
  XXH3_64bits_reset(hash.get());
  ::posix_fadvise(origin_, 0, 0, POSIX_FADV_SEQUENTIAL);
  char* piece = static_cast<char*>(memory.get());
  off_t offset = 0;
  for (;;) {
    if (give_up()) return ECANCELED;
    ssize_t size = ::pread(origin_, piece, kPieceBytes, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) break;
    if (offset + size > before_.st_size) return ESTALE;
    XXH3_64bits_update(hash.get(), piece, static_cast<std::size_t>(size));
    auto write = has_holes(before_) ? write_pages : write_all;
    if (int code = write(target_.fd(), piece, static_cast<std::size_t>(size), offset);
        code != 0) {
      return code;
    }
    offset += size;
  }
  if (offset != before_.st_size) return ESTALE;
  if (has_holes(before_) && ::ftruncate(target_.fd(), before_.st_size) != 0) return errno;
  checksum_ = XXH3_64bits_digest(hash.get());
  return 0;
}

int FrameCopy::seal(FrameKind kind) {
  struct stat after = {};
  if (::fstat(origin_, &after) != 0) return errno;
  if (after.st_size != before_.st_size || !same_time(after.st_mtim, before_.st_mtim) ||
      !same_time(after.st_ctim, before_.st_ctim)) {
    return ESTALE;
  }
  // The attribute first: it needs the write bit, which the copy's mode lacks.
  if (int code = write_identity(target_.fd(), identity_of(after, kind, checksum_)); code != 0) {
    return code;
  }
  // The origin's access time is the copy's first; from then on reading moves it, as ever.
  const timespec times[] = {after.st_atim, after.st_mtim};
  if (::futimens(target_.fd(), times) != 0) return errno;
  return ::fchmod(target_.fd(), kCopyMode) == 0 ? 0 : errno;
}

}  // namespace zazen
