#include "preload/frames/copy_identity.h"

#include <cstring>

#include "bodhi/lean/system/published_file.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"

namespace zazen {
namespace {

// The copy's path ends with the origin's path (D4), so the copy's own name leads to its origin
// without a table. The right tail is the path of the file with the identity's inode.
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

// The dataset whose directory in the cache is a prefix of the copy's path.
bool origin_dev_by_table(const Node& node, const char* copy, dev_t* dev) {
  std::size_t cache_length = std::strlen(node.table->cache);
  if (std::strncmp(copy, node.table->cache, cache_length) != 0) return false;
  for (std::uint32_t i = 0; i < node.table->dataset_count; ++i) {
    const DatasetMatcher& matcher = node.matchers[i];
    const char* below = copy + cache_length;
    DirectoryKey key;
    if (matcher.path_length != 0 &&
        std::strncmp(below, matcher.path, matcher.path_length) == 0 &&
        below[matcher.path_length] == '/' && frame_directory(matcher, &key)) {
      *dev = key.dev;
      return true;
    }
  }
  return false;
}

// The device of all datasets, if they share one; they nearly always do.
bool common_origin_dev(const Node& node, dev_t* dev) {
  bool found = false;
  for (std::uint32_t i = 0; i < node.table->dataset_count; ++i) {
    DirectoryKey key;
    if (node.matchers[i].path_length == 0 || !frame_directory(node.matchers[i], &key)) continue;
    if (found && key.dev != *dev) return false;
    *dev = key.dev;
    found = true;
  }
  return found;
}

const IndexEntry* entry_of(const Node& node, const struct stat& local) {
  if (local.st_dev != node.table->cache_dev || !has_mode_of_copy(local.st_mode)) return nullptr;
  const IdentityIndex* index = index_of(node);
  return index == nullptr ? nullptr : find_entry(*index, local);
}

// The index has the dataset, which gives the device.
bool find_in_index(const struct stat& local, OriginIdentity* identity, dev_t* origin_dev) {
  const Node* node = mapped_node.load(std::memory_order_acquire);
  const IndexEntry* entry = node == nullptr ? nullptr : entry_of(*node, local);
  DirectoryKey key;
  if (entry == nullptr || entry->dataset >= node->table->dataset_count ||
      !frame_directory(node->matchers[entry->dataset], &key)) {
    return false;
  }
  *identity = identity_of(*entry, local);
  *origin_dev = key.dev;
  return true;
}

// A separate function, because of its buffer.
[[gnu::noinline]] void origin_dev_by_link(int fd, const Node* node,
                                          const OriginIdentity& identity, dev_t* origin_dev) {
  char copy[2 * kMaxPath + kMaxTemplate + 64];
  ssize_t length = raw::readlinkat(AT_FDCWD, raw::FdLink(fd).text(), copy, sizeof copy - 1);
  if (length <= 0) return;
  copy[length] = '\0';
  if (node == nullptr || !origin_dev_by_table(*node, copy, origin_dev)) {
    origin_dev_by_name(copy, identity, origin_dev);
  }
}

bool ask_the_copy(int fd, const struct stat& local, OriginIdentity* identity,
                  dev_t* origin_dev) {
  // Any program could have set the attribute on its own file. So the file must belong to this
  // user or root, as a cache does, and its size must match the attribute.
  if (read_identity(fd, identity) != 0) return false;
  if (!owner_is_trusted(local)) return false;
  if (identity->size != static_cast<std::uint64_t>(local.st_size)) return false;
  bool alive = false;
  const Node* node = current_node(&alive);
  if (node != nullptr && local.st_dev == node->table->cache_dev &&
      common_origin_dev(*node, origin_dev)) {
    return true;
  }
  *origin_dev = local.st_dev;
  origin_dev_by_link(fd, node, *identity, origin_dev);
  return true;
}

}  // namespace

bool indexed_identity(const Node& node, const struct stat& local, OriginIdentity* identity) {
  const IndexEntry* entry = entry_of(node, local);
  if (entry == nullptr) return false;
  *identity = identity_of(*entry, local);
  return true;
}

bool identity_of_fd(int fd, const struct stat& local, OriginIdentity* identity,
                    dev_t* origin_dev) {
  if (!has_mode_of_copy(local.st_mode)) [[likely]]
    return false;
  ErrnoKeeper keep;
  return find_in_index(local, identity, origin_dev) ||
         ask_the_copy(fd, local, identity, origin_dev);
}

bool identity_of_path(int dirfd, const char* path, int flags, const struct stat& local,
                      OriginIdentity* identity, dev_t* origin_dev) {
  if (!has_mode_of_copy(local.st_mode)) [[likely]]
    return false;
  ErrnoKeeper keep;
  if (find_in_index(local, identity, origin_dev)) return true;
  int nofollow = (flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
  RawFd file(raw::openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | nofollow, 0));
  return file.valid() && ask_the_copy(file.get(), local, identity, origin_dev);
}

}  // namespace zazen
