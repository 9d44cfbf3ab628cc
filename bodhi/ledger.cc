// Neighbouring frames share a block of slots, one page, so that a few thousand frames touch
// a few pages. A taken slot sends the search to another block, chosen by hashing again:
// full neighbours do not pile up into long searches.
#include "bodhi/ledger.h"

#include <sys/mman.h>

#include <cerrno>

namespace zazen {
namespace {

constexpr std::uint64_t kMaxProbes = 64;

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

}  // namespace

void Ledger::note(std::uint32_t dataset, FrameSeq seq, std::uint32_t new_flags) {
  if (dataset >= 255 || seq > kMaxSeq) {
    overflowed.store(1, std::memory_order_relaxed);
    return;
  }
  std::uint64_t wanted = (std::uint64_t{dataset} + 1) << 56 | seq;
  for (std::uint64_t probe = 0; probe < kMaxProbes; ++probe) {
    std::uint64_t hash = mix(wanted / kBlockSlots * kMaxProbes + probe);
    std::size_t block = (hash >> 8) % kBlocks;
    Slot& slot = slots[block * kBlockSlots + (wanted ^ hash) % kBlockSlots];
    std::uint64_t key = slot.key.load(std::memory_order_relaxed);
    if (key == 0) {
      used_blocks[block / 64].fetch_or(std::uint64_t{1} << (block % 64),
                                       std::memory_order_relaxed);
      slot.key.compare_exchange_strong(key, wanted, std::memory_order_relaxed);
      if (key == 0) key = wanted;
    }
    if (key == wanted) {
      slot.flags.fetch_or(new_flags, std::memory_order_relaxed);
      return;
    }
  }
  overflowed.store(1, std::memory_order_relaxed);
}

Ledger* make_ledger() {
  int saved = errno;
  void* memory = ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved;
  return memory == MAP_FAILED ? nullptr : static_cast<Ledger*>(memory);
}

}  // namespace zazen
