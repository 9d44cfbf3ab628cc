// Neighbouring frames share a block of slots, one page, so that a few thousand frames touch a
// few pages. If a slot is taken, the search goes on in another block, chosen by hashing again,
// so full neighbours do not cause long searches.
#include "bodhi/lean/run/ledger.h"

#include <linux/futex.h>
#include <sys/mman.h>

#include <cstring>

#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::uint64_t kMaxProbes = 64;

// Whether this page can be written to. The kernel ORs a word of it with 0. This gives the page
// its memory, or EFAULT where our own access would raise SIGBUS.
bool can_write(void* page) {
  constexpr int kChangesNothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);
  return raw_call(SYS_futex, page, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, page,
                  kChangesNothing) >= 0;
}

bool can_write(const char* begin, std::size_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin) & ~std::uintptr_t{4095};
  const auto end = reinterpret_cast<std::uintptr_t>(begin) + size;
  for (std::uintptr_t page = first; page < end; page += 4096) {
    if (!can_write(reinterpret_cast<void*>(page))) return false;
  }
  return true;
}

}  // namespace

void Ledger::keep_path(std::uint32_t dataset, const char* path) {
  const std::size_t size = std::strlen(path) + 1;
  if (size > kMaxPath || !can_write(paths[dataset], size)) return;
  std::memcpy(paths[dataset], path, size);
  has_path[dataset].store(1, std::memory_order_release);
}

std::uint32_t Ledger::dataset_of(std::uint64_t key, const char* path) {
  for (std::uint32_t probe = 0; probe < kDatasets; ++probe) {
    const auto i = static_cast<std::uint32_t>((key + probe) % kDatasets);
    std::uint64_t found = dataset_keys[i].load(std::memory_order_relaxed);
    if (found == 0 &&
        dataset_keys[i].compare_exchange_strong(found, key, std::memory_order_relaxed)) {
      found = key;
    }
    if (found != key) continue;
    // Another thread may have claimed the slot and not yet written the path.
    if (has_path[i].load(std::memory_order_relaxed) == 0) [[unlikely]]
      keep_path(i, path);
    return i;
  }
  return kNoDataset;
}

bool Ledger::note(std::uint32_t dataset, FrameSeq seq, std::uint32_t new_flags) {
  if (dataset >= kDatasets || seq > kMaxSeq) {
    overflowed.store(1, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t wanted = (std::uint64_t{dataset} + 1) << 54 | seq;
  for (std::uint64_t probe = 0; probe < kMaxProbes; ++probe) {
    const std::uint64_t hash = mix_bits(wanted / kBlockSlots * kMaxProbes + probe);
    const std::size_t block = (hash >> 9) % kBlocks;
    std::atomic<std::uint64_t>& slot =
        slots[block * kBlockSlots + (wanted ^ hash) % kBlockSlots];
    const std::uint64_t bit = std::uint64_t{1} << (block % 64);
    if ((used_blocks[block / 64].load(std::memory_order_relaxed) & bit) == 0) {
      if (!can_write(&slots[block * kBlockSlots])) break;
      used_blocks[block / 64].fetch_or(bit, std::memory_order_relaxed);
    }
    std::uint64_t found = slot.load(std::memory_order_relaxed);
    if (found == 0 && slot.compare_exchange_strong(found, wanted << 2 | new_flags,
                                                   std::memory_order_relaxed)) {
      return true;
    }
    if (found >> 2 != wanted) continue;
    if ((found & new_flags) == new_flags) return false;
    return (slot.fetch_or(new_flags, std::memory_order_relaxed) & new_flags) != new_flags;
  }
  overflowed.store(1, std::memory_order_relaxed);
  return false;
}

Ledger* make_ledger() {
  return static_cast<Ledger*>(raw_map(sizeof(Ledger), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1));
}

}  // namespace zazen
