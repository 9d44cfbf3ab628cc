#include "bodhi/lean/frames/identity_index.h"

#include <sys/resource.h>

#include "bodhi/lean/system/published_file.h"

namespace zazen {
namespace {

constexpr std::uint32_t kMostSlotsLog2 = 40;

bool index_is_valid(const IdentityIndex& index, std::size_t size, std::uint64_t instance) {
  return index.magic == kIndexMagic && index.version == kIndexVersion &&
         index.instance == instance && index.slots_log2 <= kMostSlotsLog2 &&
         size == index_size(index.slots_log2);
}

// Under a limit of the address space the index takes only a small part of it.
bool leaves_room(std::size_t size) {
  constexpr rlim_t kPart = 64;
  struct rlimit limit = {};
  static_assert(sizeof limit.rlim_cur == sizeof(std::uint64_t));
  return raw_call(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur / kPart);
}

}  // namespace

std::size_t index_size(std::uint32_t slots_log2) {
  return sizeof(IdentityIndex) + (sizeof(IndexEntry) << slots_log2);
}

const IdentityIndex* map_index(const char* runtime, std::uint64_t instance) {
  std::size_t size = 0;
  RawFd file(open_published(runtime, kIndexFile, O_RDONLY, &size));
  if (!file.valid() || size < sizeof(IdentityIndex) || !leaves_room(size)) return nullptr;
  void* memory = map_published(file.get(), size, PROT_READ);
  if (memory == nullptr) return nullptr;
  const IdentityIndex* index = static_cast<const IdentityIndex*>(memory);
  if (index_is_valid(*index, size, instance)) return index;
  raw_unmap(memory, size);
  return nullptr;
}

const IndexEntry* find_entry(const IdentityIndex& index, const struct stat& local) {
  std::uint64_t slot = index.first_slot(local.st_ino);
  for (std::uint32_t probe = 0; probe < kMaxProbes; ++probe) {
    const IndexEntry& entry = index.slots[(slot + probe) & index.mask()];
    std::uint64_t ino = entry.local_ino.load(std::memory_order_acquire);
    if (ino == local.st_ino && entry.local_ctime_ns == to_ns(local.st_ctim)) return &entry;
    if (ino == IndexEntry::kFree) break;
  }
  return nullptr;
}

OriginIdentity identity_of(const IndexEntry& entry, const struct stat& local) {
  OriginIdentity identity = {};
  identity.version = kIdentityVersion;
  identity.mode = static_cast<std::uint16_t>(entry.mode);
  identity.uid = entry.uid;
  identity.gid = entry.gid;
  identity.size = static_cast<std::uint64_t>(local.st_size);
  identity.ino = entry.ino;
  identity.mtime_ns = entry.mtime_ns;
  identity.ctime_ns = entry.ctime_ns;
  identity.links = entry.links;
  identity.blocks = entry.blocks & kMostBlocks;
  return identity;
}

}  // namespace zazen
