#include "daemon/validation/scrub.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "bodhi/lean/frames/table.h"
#include "daemon/process/log.h"

namespace zazen {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20, kPageBytes = 4096;
constexpr std::size_t kFramesAtOnce = 4096;
constexpr std::size_t kMostFindings = 256;  // of one answer, which is one packet

struct FreeHash {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// Knows which pages of a file are in the page cache.
class Residency {
 public:
  Residency(int fd, std::size_t size) : fd_(fd), size_(size) {
    memory_ = size == 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  }
  ~Residency() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, size_);
  }
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  // Reads; a page that was not in the page cache leaves it again. The offset is that of a page.
  ssize_t read(void* buffer, std::size_t size, off_t offset) const {
    unsigned char before[kPieceBytes / kPageBytes];
    auto begin = static_cast<std::size_t>(offset);
    std::size_t known = begin < size_ ? std::min(size, size_ - begin) : 0;
    if (memory_ == MAP_FAILED ||
        ::mincore(static_cast<char*>(memory_) + begin, known, before) != 0) {
      known = 0;
    }
    ssize_t got = ::pread(fd_, buffer, size, offset);
    for (std::size_t at = 0; at < known; at += kPageBytes) {
      if ((before[at / kPageBytes] & 1) != 0) continue;
      ::posix_fadvise(fd_, offset + static_cast<off_t>(at), kPageBytes, POSIX_FADV_DONTNEED);
    }
    return got;
  }

 private:
  int fd_;
  std::size_t size_;
  void* memory_;
};

// 0 or an errno.
int checksum_of(int fd, std::size_t size, const std::atomic<bool>& give_up,
                std::uint64_t* bytes, std::uint64_t* checksum) {
  Residency file(fd, size);
  std::unique_ptr<char[]> buffer(new char[kPieceBytes]);
  std::unique_ptr<XXH3_state_t, FreeHash> hash(XXH3_createState());
  if (!hash) return ENOMEM;
  XXH3_64bits_reset(hash.get());
  // Read-ahead would put pages into the page cache that nobody reads.
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  for (;;) {
    if (give_up) return ECANCELED;
    ssize_t got = file.read(buffer.get(), kPieceBytes, static_cast<off_t>(*bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    XXH3_64bits_update(hash.get(), buffer.get(), static_cast<std::size_t>(got));
    *bytes += static_cast<std::uint64_t>(got);
  }
  *checksum = XXH3_64bits_digest(hash.get());
  return 0;
}

const char* word_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kChecksum:
      return "checksum";
    case Verdict::kSize:
      return "size";
    case Verdict::kIdentity:
      return "identity";
    case Verdict::kUnreadable:
      return "unreadable";
  }
  return "";
}

}  // namespace

Scrubbed scrub_copy(const Store& store, std::uint32_t dataset, FrameSeq seq,
                    const std::atomic<bool>& give_up) {
  Scrubbed result;
  result.copy.seq = seq;
  auto unreadable = [&](int error) {
    result.verdict = error == ENOENT ? Verdict::kMissing : Verdict::kUnreadable;
    result.error = error;
    return result;
  };
  UniqueFd copy = store.open_copy(dataset, seq);
  if (!copy.valid()) return unreadable(errno);
  struct stat local = {};
  if (::fstat(copy.get(), &local) != 0) return unreadable(errno);
  result.copy = ExactCopy::of(seq, local);
  OriginIdentity identity = {};
  if (!looks_like_copy(local, store.disk().dev()) ||
      read_identity(copy.get(), &identity) != 0) {
    result.verdict = Verdict::kIdentity;
    return result;
  }
  std::uint64_t checksum = 0;
  int code = checksum_of(copy.get(), static_cast<std::size_t>(local.st_size), give_up,
                         &result.bytes, &checksum);
  if (code != 0) return unreadable(code);
  if (result.bytes != identity.size) {
    result.verdict = Verdict::kSize;
  } else if (checksum != identity.checksum) {
    result.verdict = Verdict::kChecksum;
  }
  // A copy that became a native meanwhile has another ctime.
  if (::fstat(copy.get(), &local) == 0) result.copy = ExactCopy::of(seq, local);
  return result;
}

ScrubbedPiece scrub_piece(Store& store, std::uint32_t dataset, FrameSeq first, FrameSeq last,
                          std::int64_t patience_ms, const std::atomic<bool>& give_up) {
  ScrubbedPiece piece;
  std::vector<ExactCopy> bad;
  std::int64_t until_ms = monotonic_ms() + patience_ms;
  auto go_on = [&] {
    return piece.findings.size() < kMostFindings && monotonic_ms() < until_ms && !give_up;
  };
  piece.figures.next = first;
  do {
    std::vector<FrameSeq> frames =
        store.frames_from(dataset, piece.figures.next, kFramesAtOnce);
    piece.figures.done = frames.empty() || frames.front() > last ? 1 : 0;
    for (std::size_t i = 0; i < frames.size() && piece.figures.done == 0; ++i) {
      FrameSeq seq = frames[i];
      Scrubbed scrubbed = scrub_copy(store, dataset, seq, give_up);
      if (give_up) return piece;
      piece.figures.frames += 1;
      piece.figures.bytes += scrubbed.bytes;
      // A copy that was evicted during its check is no finding.
      if (scrubbed.verdict != Verdict::kGood && store.find(dataset, seq)) {
        piece.findings.push_back({seq, scrubbed.verdict, scrubbed.error});
        bad.push_back(scrubbed.copy);
        log_line(LogLevel::kWarn, "bad_copy",
                 {{"dataset", store.dataset(dataset).path},
                  {"frame", store.name_of(dataset, seq)},
                  {"what", word_for(scrubbed.verdict)}});
      }
      if (seq >= last || seq == std::numeric_limits<FrameSeq>::max()) piece.figures.done = 1;
      piece.figures.next = seq + 1;
      if (!go_on()) break;
    }
  } while (piece.figures.done == 0 && go_on());
  piece.figures.findings = static_cast<std::uint32_t>(piece.findings.size());
  store.drop_exactly(dataset, bad);
  return piece;
}

}  // namespace zazen
