#include "bodhi/lean/requests/local_copy.h"

#include <alloca.h>
#include <sys/uio.h>

#include <cstring>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::int64_t kLookMs = 1000;

// The first use of the dataset by this process, and the first one after each kTrustMs: the
// daemon compares a sample, unless it has just done so, and this very copy is compared, too.
// The first use by an MPI job wants a sample that is younger than the job. Until both are done,
// every other thread compares its own copy.
class FirstUse {
 public:
  // Before the copy is open: the daemon may be waited for, and a handler may leave by a jump.
  explicit FirstUse(const LocalCopy& copy) : copy_(copy) {
    if (copy.dataset.validate != Validate::kSample) return;
    std::int64_t looked_ms = copy.trust.looked_at_ms.load(std::memory_order_acquire);
    if (looked_ms <= copy.job_began_ms || copy.now_ms - looked_ms >= kTrustMs) [[unlikely]]
      begin();
  }
  ~FirstUse() {
    if (!looks_) [[likely]]
      return;
    copy_.trust.looked_at_ms.store(copy_.now_ms, std::memory_order_release);
    copy_.trust.looking_since_ms.store(0, std::memory_order_relaxed);
  }
  FirstUse(const FirstUse&) = delete;
  FirstUse& operator=(const FirstUse&) = delete;

  bool is_first() const { return is_first_; }

 private:
  [[gnu::noinline, gnu::cold]] void begin() {
    is_first_ = true;
    // It may also be out of the real user's reach, and within that of the effective one.
    if (!copy_.is_there()) return;
    CopyTrust& trust = copy_.trust;
    const std::int64_t now_ms = copy_.now_ms;
    // A thread that began and did not come back (a fork in between) is waited for so long only.
    std::int64_t since_ms = trust.looking_since_ms.load(std::memory_order_relaxed);
    if (since_ms != 0 && now_ms - since_ms < kLookMs) return;
    if (!trust.looking_since_ms.compare_exchange_strong(since_ms, now_ms)) return;
    looks_ = true;
    std::int64_t sampled_ms = copy_.dataset.sampled_at_ms.load(std::memory_order_relaxed);
    bool sampled = sampled_ms > copy_.job_began_ms && now_ms - sampled_ms < kSampleAgeMs;
    // A daemon that was slow once is asked again, and then believed.
    if (!sampled) trust.distrusted.store(!request_sample(copy_));
  }

  const LocalCopy& copy_;
  bool is_first_ = false;
  bool looks_ = false;
};

// One stale copy, and this process trusts none of the dataset's without looking.
void refuse_copy(const LocalCopy& copy) {
  copy.trust.distrusted.store(true);
  drop_copy(copy, kFoundStale);
}

// False: the copy is stale, and closed.
[[gnu::noinline]] bool passes_comparison(const LocalCopy& copy, CopyFacts facts, int fd) {
  facts.comparison = compare_with_origin(fd, copy.origin());
  if (judge(facts).use == CopyUse::kServe) return true;
  raw_call(SYS_close, fd);
  refuse_copy(copy);
  return false;
}

// Only EAGAIN says that the disk would be needed; where the file system cannot tell, it is none
// of those that this is for.
bool needs_the_disk(int fd, off_t offset) {
  char byte;
  struct iovec part = {&byte, 1};
  return raw_call(SYS_preadv2, fd, &part, 1, offset, 0, RWF_NOWAIT) == -EAGAIN;
}

std::uint64_t slot_of(const LocalCopy& copy, FrameSeq seq) {
  const auto dataset = static_cast<std::uint32_t>(&copy.dataset - copy.table.datasets);
  return copy.table.pending[pending_slot(dataset, seq)].load();
}

// After a chroot(), or in a container, another directory may be where the cache was, or none.
bool cache_is_in_sight(const LocalCopy& copy) {
  struct stat st;
  return raw_call(SYS_newfstatat, AT_FDCWD, copy.table.cache, &st, 0) == 0 &&
         st.st_dev == copy.table.cache_dev && st.st_ino == copy.table.cache_ino;
}

// A turn at a spinning disk (D17): the daemon brings a copy that is not in memory in, for one
// program after the other, and answers when its beginning is there. If it does not answer, the
// program reads by itself.
[[gnu::noinline, gnu::cold]] void await_read_in(const LocalCopy& copy, int fd) {
  struct stat st;
  if (raw_fstat(fd, &st) != 0 || st.st_size < kOrderedBytes) return;
  if (!needs_the_disk(fd, 0) && !needs_the_disk(fd, st.st_size - 1)) return;
  if (!heart_beats(copy.table, monotonic_ms())) return;
  copy.ask({.type = MessageType::kReadIn, .answer_ms = kReadInMs});
}

// std::atomic_thread_fence does not compile for TSan.
void full_fence() {
  __sync_synchronize();
}

}  // namespace

bool directory_key(const char* path, DirectoryKey* key) {
  struct stat st;
  if (raw_call(SYS_newfstatat, AT_FDCWD, path, &st, 0) != 0 || !S_ISDIR(st.st_mode)) {
    return false;
  }
  *key = {st.st_dev, st.st_ino};
  return true;
}

void DirectoryWatch::look_anew(const char* dataset, const FrameName& name,
                               std::int64_t now_ms) {
  std::size_t length = std::strlen(dataset);
  char* path = static_cast<char*>(alloca(length + 1 + name.directory_length() + sizeof "/."));
  std::memcpy(path, dataset, length);
  path[length++] = '/';
  std::memcpy(path + length, name.directory(), name.directory_length());
  length += name.directory_length();
  // A process without search permission for the directory must not learn about its content.
  std::memcpy(path + length, "/.", sizeof "/.");
  DirectoryKey key;
  bool found = directory_key(path, &key);
  if (found) {
    dev_.store(key.dev, std::memory_order_relaxed);
    ino_.store(key.ino, std::memory_order_relaxed);
  }
  reachable_.store(found, std::memory_order_relaxed);
  looked_at_ms_.store(found ? now_ms : now_ms - kAgainMs + 1000, std::memory_order_release);
}

const char* LocalCopy::origin() const {
  return path + std::strlen(table.cache);
}

const char* LocalCopy::name() const {
  return origin() + std::strlen(dataset.path) + 1;
}

long LocalCopy::look() const {
  return raw_call(SYS_faccessat, AT_FDCWD, path, F_OK);
}

int LocalCopy::ask(DaemonRequest request) const {
  request.dataset = dataset.path;
  if (request.type != MessageType::kSample) request.name = name();
  return daemon.ask(daemon, table, request);
}

bool request_sample(const LocalCopy& copy) {
  return copy.ask({.type = MessageType::kSample, .answer_ms = kAnswerMs}) == 0;
}

int open_local_copy(const LocalCopy& copy, int flags) {
  DirectoryKey directory;
  CopyFacts facts = dataset_facts(copy, &directory);
  if (judge(facts).use == CopyUse::kOrigin) return -1;
  FirstUse use(copy);
  int fd = static_cast<int>(raw_call(SYS_openat, AT_FDCWD, copy.path, flags, 0));
  facts.copy_error = fd < 0 ? -fd : 0;
  facts.is_first_use = use.is_first();
  facts.is_distrusted = copy.trust.distrusted.load(std::memory_order_relaxed);
  const CopyUse verdict = judge(facts).use;
  if (verdict == CopyUse::kOrigin) return -1;
  if (verdict == CopyUse::kCompare && !passes_comparison(copy, facts, fd)) return -1;
  if (copy.table.orders_reads.load(std::memory_order_relaxed) != 0) [[unlikely]]
    await_read_in(copy, fd);
  return fd;
}

bool confirm_identity(const LocalCopy& copy, const OriginIdentity& identity) {
  FirstUse use(copy);
  if (!use.is_first() || compare_with_origin(identity, copy.origin()) == Comparison::kSame) {
    return true;
  }
  refuse_copy(copy);
  return false;
}

Comparison compare_with_origin(const OriginIdentity& identity, const char* origin) {
  struct stat st;
  bool is_there = raw_call(SYS_newfstatat, AT_FDCWD, origin, &st, AT_SYMLINK_NOFOLLOW) == 0;
  return is_there && same_file(identity, st) ? Comparison::kSame : Comparison::kDiffers;
}

Comparison compare_with_origin(int copy_fd, const char* origin) {
  OriginIdentity identity;
  if (read_identity(copy_fd, &identity) != 0) return Comparison::kNoIdentity;
  return compare_with_origin(identity, origin);
}

// AT_STATX_DONT_SYNC: what the kernel knows of an open file is enough, and no server is asked.
bool announce_miss(ProgramNews& news, std::uint32_t dataset, FrameSeq seq, int origin_fd) {
  struct statx origin;
  if (raw_call(SYS_statx, origin_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO,
               &origin) != 0) {
    return false;
  }
  return add_news(news,
                  {dataset, seq, kNewsMissed,
                   file_mark(origin.stx_dev_major, origin.stx_dev_minor, origin.stx_ino)});
}

int open_filled_copy(const char* path, int flags, int origin_fd) {
  const int copy_fd = raw_open(path, flags);
  if (copy_fd < 0) return -1;
  OriginIdentity identity;
  struct stat origin;
  if (read_identity(copy_fd, &identity) == 0 && raw_fstat(origin_fd, &origin) == 0 &&
      same_file(identity, origin)) {
    return copy_fd;
  }
  raw_call(SYS_close, copy_fd);
  return -1;
}

bool request_fill(const LocalCopy& copy, int origin_fd, bool waits) {
  // A handler has run in between: the fill goes on, and is asked for again.
  const std::int64_t deadline_ms = monotonic_ms() + kFillMs;
  int result;
  do {
    result = copy.ask(
        {.type = MessageType::kFill, .answer_ms = waits ? kFillMs : 0, .origin_fd = origin_fd});
  } while (result == -EINTR && monotonic_ms() < deadline_ms);
  return result == 0;
}

// The order counts: the change, the state of the table, pending copies, the name. A daemon that
// takes the place of a killed one marks the old table before it fills anything.
CopyLeft look_for_copy(const LocalCopy& copy, FrameSeq seq) {
  full_fence();
  if (copy.table.state.load() != DaemonState::kServing) return CopyLeft::kUnknown;
  if (pending_now(slot_of(copy, seq)) != 0) return CopyLeft::kUnknown;
  struct stat st;
  const long found = raw_call(SYS_newfstatat, AT_FDCWD, copy.path, &st, AT_SYMLINK_NOFOLLOW);
  if (found == 0) return CopyLeft::kNamed;
  return found == -ENOENT && cache_is_in_sight(copy) ? CopyLeft::kNone : CopyLeft::kUnknown;
}

// The instance comes last. Another daemon's table may take the place of this one at any time,
// and then stays there: if it has not by now, all was read from the first one's.
CopyLeft look_again_for_copy(const LocalCopy& copy, FrameSeq seq, const CopyBefore& before) {
  full_fence();
  const bool is_same =
      copy.table.state.load() == DaemonState::kServing && pending_now(before.pending) == 0 &&
      slot_of(copy, seq) == before.pending && copy.table.instance == before.instance;
  const bool is_gone =
      is_same && (before.name == CopyBefore::kRemoved ||
                  (before.name == CopyBefore::kFree && cache_is_in_sight(copy)));
  return is_gone ? CopyLeft::kNone : look_for_copy(copy, seq);
}

long remove_copy(const LocalCopy& copy) {
  return raw_call(SYS_unlinkat, AT_FDCWD, copy.path, 0);
}

bool drop_copy(const LocalCopy& copy, std::uint32_t flags) {
  DaemonRequest request = {.type = MessageType::kInvalidate, .flags = flags};
  if (copy.is_alive) {
    request.answer_ms = (flags & kOpenForWriting) != 0 ? kSuspendMs : kAnswerMs;
    int told = copy.ask(request);
    if (told >= 0 && told != EAGAIN) return told == 0;  // EAGAIN: it has too much to do
    request.breaks_quiet = true;
    request.answer_ms = 0;
    // Other nodes have to hear of it all the same, when the daemon comes to read it.
    if (told < 0 && copy.table.has_peers != 0) copy.ask(request);
  }
  const long removed = remove_copy(copy);
  if (removed == 0) return false;
  // After a chroot() the whole cache is out of sight.
  bool is_in_sight = raw_call(SYS_faccessat, AT_FDCWD, copy.table.cache, F_OK) == 0;
  if (removed == -ENOENT && is_in_sight) return false;
  // The copy is root's: the daemon alone can drop it, and it must be told.
  request.answer_ms = kMissedBeatsMs;
  if (copy.is_alive && copy.ask(request) == 0) return true;
  copy.trust.distrusted.store(true);
  if (copy.daemon.note_untold != nullptr) copy.daemon.note_untold(copy.table, copy.dataset);
  return false;
}

}  // namespace zazen
