#include "preload/cached_copy.h"

#include <cstring>

#include "preload/account.h"
#include "preload/copy_identity.h"
#include "preload/daemon_link.h"
#include "preload/hook.h"
#include "preload/raw.h"
#include "preload/read_in.h"

namespace zazen {
namespace {

constexpr std::int64_t kSampleAgeMs = 5000;
constexpr std::int64_t kTrustMs = 30'000;
constexpr std::int64_t kLookMs = 1000;

// The daemon serves and this process can reach the dataset's directory (D15).
bool may_serve(const Route& route, DirectoryKey* directory) {
  return route.is_served() && frame_directory(*route.place, directory, route.now_ms);
}

bool each_use_is_checked(const Route& route) {
  const TableDataset& dataset = route.published();
  return dataset.validate == Validate::kAlways ||
         dataset.check_each_open.load(std::memory_order_relaxed) != 0 ||
         dataset.young_copies.load(std::memory_order_acquire) != 0 ||
         route.place->distrusted.load(std::memory_order_relaxed);
}

// The first use of the dataset by this process, and the first one after each kTrustMs: the
// node compares a sample, unless it has just done so, and this very copy is compared, too.
// Until both are done, whoever comes meanwhile compares his own copy.
class FirstUse {
 public:
  // Before the copy is open: the daemon may be waited for, and a handler may leave by a jump.
  FirstUse(const Route& route, const CopyPath& copy) : route_(route) {
    if (route.published().validate != Validate::kSample) return;
    const Place& place = *route.place;
    std::int64_t now_ms = route.now_ms;
    std::int64_t looked_ms = place.looked_at_copies_ms.load(std::memory_order_acquire);
    if (looked_ms != 0 && now_ms - looked_ms < kTrustMs) return;
    if (raw::faccessat(AT_FDCWD, copy.text, F_OK, 0) != 0) return;
    is_first_ = true;
    // Who began and did not come back (a fork in between) is waited for no longer than this.
    std::int64_t since_ms = place.looking_since_ms.load(std::memory_order_relaxed);
    if (since_ms != 0 && now_ms - since_ms < kLookMs) return;
    if (!place.looking_since_ms.compare_exchange_strong(since_ms, now_ms)) return;
    looks_ = true;
    std::int64_t sampled_ms = route.published().sampled_at_ms.load(std::memory_order_relaxed);
    bool sampled = sampled_ms != 0 && now_ms - sampled_ms < kSampleAgeMs;
    // A daemon that was slow once is asked again, and then believed.
    if (!sampled) place.distrusted.store(!request_sample(route));
  }
  ~FirstUse() {
    if (!looks_) return;
    route_.place->looked_at_copies_ms.store(route_.now_ms, std::memory_order_release);
    route_.place->looking_since_ms.store(0, std::memory_order_relaxed);
  }
  FirstUse(const FirstUse&) = delete;
  FirstUse& operator=(const FirstUse&) = delete;

  bool is_first() const { return is_first_; }

 private:
  const Route& route_;
  bool is_first_ = false;
  bool looks_ = false;
};

bool is_as_origin(const Route& route, const OriginIdentity& identity) {
  const std::size_t room = origin_path_room(*route.place);
  char* origin = static_cast<char*>(alloca(room));
  struct stat st;
  return origin_path(*route.place, route.seq, origin, room) &&
         raw::fstatat(AT_FDCWD, origin, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         same_file(identity, st);
}

// One stale copy, and this process trusts none of the dataset's without looking.
void refuse_copy(const Route& route) {
  route.place->distrusted.store(true);
  invalidate_copy(route, Reason::kFoundStale);
}

}  // namespace

std::size_t CopyPath::room(const Route& route) {
  if (route.node == nullptr) return 0;
  return route.place->copies_length + route.place->name.most_length() + 1;
}

CopyPath::CopyPath(const Route& route, void* memory) : text(nullptr) {
  const std::size_t all = room(route), length = all == 0 ? 0 : route.place->copies_length;
  if (length == 0) return;
  char* path = static_cast<char*>(memory);
  std::memcpy(path, route.place->copies, length);
  if (route.place->name.format(route.seq, path + length, all - length) != 0) text = path;
}

bool only_reads(int flags) {
  // What O_DIRECT allows is each file system's own.
  return (flags & O_ACCMODE) == O_RDONLY &&
         (flags & (O_CREAT | O_TRUNC | O_PATH | O_DIRECTORY | O_DIRECT)) == 0;
}

int open_copy(const Route& route, int flags) {
  ErrnoKeeper keep;
  DirectoryKey directory;
  if (!only_reads(flags) || !may_serve(route, &directory)) return -1;
  CopyPath copy(route, alloca(CopyPath::room(route)));
  if (!copy) return -1;
  FirstUse use(route, copy);
  int fd = raw::openat(AT_FDCWD, copy.text, flags, 0);
  if (fd < 0) return -1;
  OriginIdentity identity;
  bool check = use.is_first() || each_use_is_checked(route);
  if (check && (read_identity(fd, &identity) != 0 || !is_as_origin(route, identity))) {
    raw::close(fd);
    refuse_copy(route);
    return -1;
  }
  if (route.node->table->orders_reads != 0) [[unlikely]]
    await_read_in(route, fd);
  count_opened(route, fd, Source::kCache);
  return fd;
}

bool copy_may_answer(const Route& route, dev_t* origin_dev) {
  DirectoryKey directory;
  if (!may_serve(route, &directory) || each_use_is_checked(route)) return false;
  *origin_dev = directory.dev;
  return true;
}

bool identify_copy(const Route& route, const CopyPath& copy, const struct stat& local,
                   OriginIdentity* identity) {
  if (!indexed_identity(*route.node, local, identity) &&
      read_identity_at(copy.text, identity) != 0) {
    return false;
  }
  FirstUse use(route, copy);
  if (!use.is_first() || is_as_origin(route, *identity)) return true;
  refuse_copy(route);
  return false;
}

bool stat_copy(const Route& route, struct stat* st) {
  ErrnoKeeper keep;
  CopyPath copy(route, alloca(CopyPath::room(route)));
  dev_t origin_dev;
  OriginIdentity identity;
  struct stat local;
  if (st == nullptr || !copy || !copy_may_answer(route, &origin_dev) ||
      raw::fstatat(AT_FDCWD, copy.text, &local, AT_SYMLINK_NOFOLLOW) != 0 ||
      !identify_copy(route, copy, local, &identity)) {
    return false;
  }
  show_identity(identity, origin_dev, &local);
  *st = local;
  return true;
}

bool copy_is_readable(const Route& route, int access_flags) {
  struct stat st;
  if (!stat_copy(route, &st)) return false;
  ErrnoKeeper keep;
  CopyPath copy(route, alloca(CopyPath::room(route)));
  return copy && raw::faccessat(AT_FDCWD, copy.text, R_OK, access_flags) == 0;
}

}  // namespace zazen
