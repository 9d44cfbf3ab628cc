// IdentityIndex: tells of which frame a local file is the copy, without opening the file (D9).
//
// A hash table in <runtime>/index that the daemon writes and the programs of the node map
// read-only. The key is the copy's own inode number and change time. A file that was altered or
// replaced has another key; then the attribute (identity.h) is read. A look-up is a few loads;
// the attribute costs two microseconds.
//
// A slot is written once: first its fields, then the inode number, which publishes them. When a
// copy goes, its slot is marked removed and not used again. When the table is full, the daemon
// makes a new file and sets `superseded` in the old one. Lean.
#pragma once
#include <atomic>

#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline constexpr char kIndexFile[] = "index";
inline constexpr std::uint64_t kIndexMagic = 0x3178656469617aULL;  // "zaidex1"
inline constexpr std::uint32_t kIndexVersion = 1;
inline constexpr std::uint32_t kMaxProbes = 64;

struct IndexEntry {
  static constexpr std::uint64_t kFree = 0, kRemoved = ~0ULL;

  std::atomic<std::uint64_t> local_ino;
  std::int64_t local_ctime_ns;
  std::uint64_t ino;  // from here on: the origin's
  std::int64_t mtime_ns;
  std::int64_t ctime_ns;
  std::uint32_t uid;
  std::uint32_t gid;
  std::uint64_t blocks;
  std::uint32_t mode;
  std::uint16_t links;
  std::uint16_t dataset;  // its index in the table
};
static_assert(sizeof(IndexEntry) == 64);

struct IdentityIndex {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t slots_log2;
  std::uint64_t instance;                 // that of the daemon's table
  std::atomic<std::uint32_t> superseded;  // there is a newer file
  std::uint8_t unused[36];
  IndexEntry slots[];

  std::uint64_t mask() const { return (std::uint64_t{1} << slots_log2) - 1; }
  // Consecutive inode numbers have consecutive slots: copies are made and read in order.
  std::uint64_t first_slot(std::uint64_t local_ino) const {
    return (local_ino ^ (local_ino >> slots_log2)) & mask();
  }
};
static_assert(sizeof(IdentityIndex) == 64);

std::size_t index_size(std::uint32_t slots_log2);

// Null if there is no valid index of this daemon. Also null if it is larger than a 64th of the
// process's limit of address space.
const IdentityIndex* map_index(const char* runtime, std::uint64_t instance);

// The entry of a local file, by its plain stat; null if it has none.
const IndexEntry* find_entry(const IdentityIndex& index, const struct stat& local);

// The content of that copy's attribute, without kind and checksum.
OriginIdentity identity_of(const IndexEntry& entry, const struct stat& local);

}  // namespace zazen
