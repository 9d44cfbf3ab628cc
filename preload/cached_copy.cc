#include "preload/cached_copy.h"

#include <stdio.h>

#include <cstring>

#include "preload/account.h"
#include "preload/daemon_link.h"
#include "preload/hook.h"
#include "preload/raw.h"

namespace zazen {
namespace {

constexpr std::int64_t kSampleAgeMs = 5000;
constexpr std::int64_t kTrustMs = 30'000;

// The daemon serves and this process can reach the dataset's directory (D15).
bool may_serve(const Route& route, DirectoryKey* directory) {
  return route.node != nullptr && route.alive && frame_directory(*route.place, directory);
}

bool each_use_is_checked(const Route& route) {
  const TableDataset& dataset = route.published();
  if (dataset.validate == Validate::kNever) return false;
  return dataset.validate == Validate::kAlways ||
         dataset.check_each_open.load(std::memory_order_relaxed) != 0 ||
         dataset.young_copies.load(std::memory_order_acquire) != 0 ||
         route.place->distrusted.load(std::memory_order_relaxed);
}

// The first use of the dataset by this process, and the first one after each kTrustMs: the
// node compares a sample, unless it has just done so, and this very copy is compared, too.
bool is_first_use(const Route& route) {
  const TableDataset& dataset = route.published();
  if (dataset.validate != Validate::kSample) return false;
  std::int64_t now_ms = monotonic_ms();
  std::int64_t looked_ms = route.place->looked_at_copies_ms.load(std::memory_order_relaxed);
  if (looked_ms != 0 && now_ms - looked_ms < kTrustMs) return false;
  if (!route.place->looked_at_copies_ms.compare_exchange_strong(looked_ms, now_ms))
    return false;
  std::int64_t sampled_at_ms = dataset.sampled_at_ms.load(std::memory_order_relaxed);
  bool sampled = sampled_at_ms != 0 && now_ms - sampled_at_ms < kSampleAgeMs;
  if (!sampled && !request_sample(route)) route.place->distrusted.store(true);
  return true;
}

bool is_as_origin(const Route& route, const OriginIdentity& identity) {
  char origin[kMaxPath + kMaxTemplate + 32];
  struct stat st;
  return origin_path(*route.place, route.seq, origin, sizeof origin) &&
         raw::fstatat(AT_FDCWD, origin, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         same_file(identity, st);
}

// One stale copy, and this process trusts none of the dataset's without looking.
void refuse_copy(const Route& route) {
  route.place->distrusted.store(true);
  invalidate_copy(route);
}

// The origin's path ends the copy's path (D4), so a copy's own name leads to its origin
// without any table: the tail that is the file with the identity's inode.
bool origin_dev_by_name(const char* copy, const OriginIdentity& identity, dev_t* dev) {
  for (const char* tail = std::strchr(copy + 1, '/'); tail != nullptr;
       tail = std::strchr(tail + 1, '/')) {
    struct stat st;
    if (raw::fstatat(AT_FDCWD, tail, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_ino == identity.ino && static_cast<std::uint64_t>(st.st_size) == identity.size) {
      *dev = st.st_dev;
      return true;
    }
  }
  return false;
}

// The dataset whose directory in the cache begins the copy's path.
bool origin_dev_by_table(const Node& node, const char* copy, dev_t* dev) {
  std::size_t cache_length = std::strlen(node.table->cache);
  if (std::strncmp(copy, node.table->cache, cache_length) != 0) return false;
  for (std::uint32_t i = 0; i < node.table->dataset_count; ++i) {
    const Place& place = node.places[i];
    const char* below = copy + cache_length;
    DirectoryKey key;
    if (place.path_length != 0 && std::strncmp(below, place.path, place.path_length) == 0 &&
        below[place.path_length] == '/' && frame_directory(place, &key)) {
      *dev = key.dev;
      return true;
    }
  }
  return false;
}

// The device on which all datasets lie, which is nearly always one.
bool common_origin_dev(const Node& node, dev_t* dev) {
  bool found = false;
  for (std::uint32_t i = 0; i < node.table->dataset_count; ++i) {
    DirectoryKey key;
    if (node.places[i].path_length == 0 || !frame_directory(node.places[i], &key)) continue;
    if (found && key.dev != *dev) return false;
    *dev = key.dev;
    found = true;
  }
  return found;
}

}  // namespace

bool CopyPath::set(const Route& route) {
  char name[kMaxTemplate + 32];
  return route.node != nullptr && route.place->name.format(route.seq, name, sizeof name) != 0 &&
         copy_path(*route.node->table, route.published(), name, text, sizeof text) != 0;
}

bool only_reads(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY &&
         (flags & (O_CREAT | O_TRUNC | O_PATH | O_DIRECTORY)) == 0;
}

int open_copy(const Route& route, int flags) {
  ErrnoKeeper keep;
  DirectoryKey directory;
  CopyPath copy;
  if (!only_reads(flags) || !may_serve(route, &directory) || !copy.set(route)) return -1;
  int fd = raw::openat(AT_FDCWD, copy.text, flags, 0);
  if (fd < 0) return -1;
  OriginIdentity identity;
  bool check = is_first_use(route) || each_use_is_checked(route);
  if (check && (read_identity(fd, &identity) != 0 || !is_as_origin(route, identity))) {
    raw::close(fd);
    refuse_copy(route);
    return -1;
  }
  count_opened(route, fd, Source::kCache);
  return fd;
}

bool stat_copy(const Route& route, struct stat* st) {
  ErrnoKeeper keep;
  DirectoryKey directory;
  CopyPath copy;
  OriginIdentity identity;
  struct stat local;
  if (st == nullptr || !may_serve(route, &directory) || each_use_is_checked(route) ||
      !copy.set(route) || raw::fstatat(AT_FDCWD, copy.text, &local, AT_SYMLINK_NOFOLLOW) != 0 ||
      read_identity_at(copy.text, &identity) != 0) {
    return false;
  }
  if (is_first_use(route) && !is_as_origin(route, identity)) {
    refuse_copy(route);
    return false;
  }
  show_identity(identity, directory.dev, &local);
  *st = local;
  return true;
}

bool copy_is_readable(const Route& route, int access_flags) {
  CopyPath copy;
  struct stat st;
  if (!stat_copy(route, &st)) return false;
  ErrnoKeeper keep;
  return copy.set(route) && raw::faccessat(AT_FDCWD, copy.text, R_OK, access_flags) == 0;
}

bool identity_of_fd(int fd, const struct stat& local, OriginIdentity* identity,
                    dev_t* origin_dev) {
  ErrnoKeeper keep;
  // Whoever made this file could have given it the attribute: it must be this user's or
  // root's, as a cache is, and as long as the attribute says.
  if (!looks_like_copy(local, local.st_dev) || read_identity(fd, identity) != 0) return false;
  if (local.st_uid != ::geteuid() && local.st_uid != 0) return false;
  if (identity->size != static_cast<std::uint64_t>(local.st_size)) return false;
  bool alive = false;
  const Node* node = current_node(&alive);
  if (node != nullptr && local.st_dev == node->table->cache_dev &&
      common_origin_dev(*node, origin_dev)) {
    return true;
  }
  *origin_dev = local.st_dev;
  char link[64], copy[2 * kMaxPath + kMaxTemplate + 64];
  ::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = raw::readlinkat(AT_FDCWD, link, copy, sizeof copy - 1);
  if (length <= 0) return true;
  copy[length] = '\0';
  if (node == nullptr || !origin_dev_by_table(*node, copy, origin_dev)) {
    origin_dev_by_name(copy, *identity, origin_dev);
  }
  return true;
}

}  // namespace zazen
