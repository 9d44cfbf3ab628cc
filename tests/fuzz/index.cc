// The identity index as a program maps it. The first eight bytes are the inode number that is
// looked up; the rest is the file.
#include "bodhi/lean/frames/identity_index.h"

#include "bodhi/lean/system/raw_call.h"
#include "tests/fuzz/demand.h"

using namespace zazen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ScratchDirectory scratch;
  struct stat local = {};
  std::uint64_t instance = 0;
  constexpr std::size_t kInstanceAt = offsetof(IdentityIndex, instance);
  if (size < sizeof local.st_ino) return 0;
  std::memcpy(&local.st_ino, data, sizeof local.st_ino);
  std::string_view file = as_text(data, size).substr(sizeof local.st_ino);
  if (file.size() >= kInstanceAt + sizeof instance) {
    std::memcpy(&instance, file.data() + kInstanceAt, sizeof instance);
  }
  scratch.write(kIndexFile, file);
  demand(map_index(scratch.path().c_str(), instance + 1) == nullptr);
  const IdentityIndex* mapped = map_index(scratch.path().c_str(), instance);
  if (mapped == nullptr) return 0;

  MappedBytes bytes(mapped, file.size());
  raw_unmap(mapped, file.size());
  const IdentityIndex& index = *bytes.as<IdentityIndex>();
  for (std::uint64_t slot = 0; slot <= index.mask(); ++slot) {
    const IndexEntry& entry = index.slots[slot];
    struct stat one = local;
    if (slot > 0) one.st_ino = entry.local_ino;
    one.st_ctim = {entry.local_ctime_ns / 1'000'000'000, entry.local_ctime_ns % 1'000'000'000};
    const IndexEntry* found = find_entry(index, one);
    if (found == nullptr) continue;
    demand(found->local_ino == one.st_ino && found->local_ctime_ns == to_ns(one.st_ctim));
    OriginIdentity identity = identity_of(*found, one);
    show_identity(identity, 1, &one);
    demand(one.st_ino == found->ino);
  }
  return 0;
}
