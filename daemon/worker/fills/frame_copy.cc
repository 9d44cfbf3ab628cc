#include "daemon/worker/fills/frame_copy.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "daemon/worker/fills/page_cache_map.h"
#include "daemon/worker/origins/origin.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::size_t kFetchBytes = 256 << 10;  // a program's read waits for one of these
constexpr std::chrono::milliseconds kPause(4);
constexpr off_t kSmallBytes = 64 << 10;   // read at once: to look for its pages costs as much
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

bool is_zero(const char* bytes, std::size_t size) {
  return bytes[0] == '\0' && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// The origin's bytes from a file's beginning to its end, at the pace that is allowed.
class OriginReader {
 public:
  OriginReader(int origin, off_t size, FillThrottle& pace, const TransferTerms& terms)
      : origin_(origin),
        size_(size),
        pace_(pace),
        terms_(terms),
        pages_(origin, terms.hurry() || size <= kSmallBytes ? 0 : size) {}

  // Read-ahead of our own would look like a program that reads.
  int read_ahead() const { return pages_.known() ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL; }

  // As pread() of at most kPieceBytes; -1 with ECANCELED if it was given up meanwhile.
  ssize_t read(char* piece, off_t offset) {
    for (;;) {
      if (terms_.give_up()) {
        errno = ECANCELED;
        return -1;
      }
      std::size_t there = wanted_at(offset);
      if (!terms_.hurry() && size_ > kSmallBytes) {
        there = pages_.known() || !terms_.is_spare ? pages_.run(offset, there) : 0;
      }
      if (there > 0) return ::pread(origin_, piece, there, offset);
      FillThrottle::Clock::time_point now = FillThrottle::Clock::now();
      if (pages_.grew()) pace_.note_reading(now);
      if (pace_.may_fetch(now, terms_.is_spare ? Fetch::kSpare : Fetch::kCopy)) {
        return fetch(piece, offset, now);
      }
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  using Fetch = FillThrottle::Fetch;

  // Up to the file's end, in whole units of kAlignment.
  std::size_t wanted_at(off_t offset) const {
    const auto left = static_cast<std::size_t>(size_ - offset);
    return std::min(kPieceBytes, (left + kAlignment - 1) / kAlignment * kAlignment);
  }
  ssize_t fetch(char* piece, off_t offset, FillThrottle::Clock::time_point now) {
    ssize_t size = ::pread(origin_, piece, std::min(kFetchBytes, wanted_at(offset)), offset);
    int code = errno;
    pace_.fetched(now, FillThrottle::Clock::now());
    pages_.grew();  // by this fetch
    errno = code;
    return size;
  }

  const int origin_;
  const off_t size_;
  FillThrottle& pace_;
  const TransferTerms& terms_;
  PageCacheMap pages_;
};

}  // namespace

// Without its holes a copy would not look the same (SEEK_HOLE), and take more room.
int FrameCopy::write(const char* bytes, std::size_t size, off_t offset,
                     const TransferTerms& terms) {
  if (!has_holes()) {
    written_ += size;
    return write_all(target_, bytes, size, offset);
  }
  while (size > 0) {
    std::size_t page =
        std::min(size, kAlignment - static_cast<std::size_t>(offset) % kAlignment);
    int code = is_zero(bytes, page) ? 0 : write_page(bytes, page, offset, terms);
    if (code != 0) return code;
    bytes += page;
    size -= page;
    offset += static_cast<off_t>(page);
  }
  return 0;
}

int FrameCopy::write_page(const char* bytes, std::size_t size, off_t offset,
                          const TransferTerms& terms) {
  if (written_ + size > reserved_) {
    const std::uint64_t more =
        std::min(static_cast<std::uint64_t>(before_.st_size) - reserved_, kPieceBytes);
    if (int code = terms.reserve_more(more); code != 0) return code;
    reserved_ += more;
  }
  written_ += size;
  return write_all(target_, bytes, size, offset);
}

int FrameCopy::transfer(FillThrottle& pace, const TransferTerms& terms) {
  std::unique_ptr<void, Free> memory(std::aligned_alloc(kAlignment, kPieceBytes));
  std::unique_ptr<XXH3_state_t, FreeHash> hash(XXH3_createState());
  if (!memory || !hash) return ENOMEM;
  XXH3_64bits_reset(hash.get());
  const bool is_small = before_.st_size <= kSmallBytes;
  const UniqueFd opened = terms.is_own || is_small ? UniqueFd() : own_description(origin_);
  const int own = terms.is_own ? origin_ : opened.get();
  OriginReader reader(own >= 0 ? own : origin_, before_.st_size, pace, terms);
  if (own >= 0 && !is_small) ::posix_fadvise(own, 0, 0, reader.read_ahead());
  char* piece = static_cast<char*>(memory.get());
  // A file that grows meanwhile is seen by look_again().
  for (off_t offset = 0; offset < before_.st_size;) {
    ssize_t size = reader.read(piece, offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0 || offset + size > before_.st_size) return ESTALE;
    XXH3_64bits_update(hash.get(), piece, static_cast<std::size_t>(size));
    if (int code = write(piece, static_cast<std::size_t>(size), offset, terms); code != 0) {
      return code;
    }
    offset += size;
  }
  if (has_holes() && ::ftruncate(target_, before_.st_size) != 0) return errno;
  checksum_ = XXH3_64bits_digest(hash.get());
  return 0;
}

int FrameCopy::look_again(struct stat* after) const {
  if (::fstat(origin_, after) != 0) return errno;
  const bool is_same = after->st_size == before_.st_size &&
                       same_time(after->st_mtim, before_.st_mtim) &&
                       same_time(after->st_ctim, before_.st_ctim);
  return is_same ? 0 : ESTALE;
}

}  // namespace zazen
