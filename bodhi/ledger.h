// Ledger: which frames a process listed and opened when it has no view, kept only if
// ZAZEN_REPORT asks for a report. A fixed hash table in shared anonymous memory, so that
// forked children write into the same one; plain atomics, no lock, no allocation after the
// first mmap. Lean.
#pragma once
#include <atomic>

#include "bodhi/base_types.h"

namespace zazen {

struct Ledger {
  static constexpr std::size_t kSlots = std::size_t{1} << 22;  // pages are touched as needed
  static constexpr std::uint32_t kListed = 1, kOpened = 2;
  static constexpr FrameSeq kMaxSeq = (FrameSeq{1} << 56) - 1;

  struct Slot {
    std::atomic<std::uint64_t> key;  // (dataset index + 1) << 56 | seq; 0: free
    std::atomic<std::uint32_t> flags;
  };

  static constexpr std::size_t kBlockSlots = 256;  // one page
  static constexpr std::size_t kBlocks = kSlots / kBlockSlots;

  std::atomic<std::uint64_t> hits;
  std::atomic<std::uint64_t> misses;
  std::atomic<std::uint64_t> bytes_local;
  std::atomic<std::uint64_t> bytes_origin;
  std::atomic<std::uint32_t> overflowed;  // a frame could not be noted: the counts are short
  std::atomic<std::uint64_t> used_blocks[kBlocks / 64];  // bitmap: which were written to
  alignas(4096) Slot slots[kSlots];

  // Notes flags for a frame. A number of 2^56 or more has no slot: it overflows.
  void note(std::uint32_t dataset, FrameSeq seq, std::uint32_t flags);

  // Calls visit(dataset, seq, flags) for each frame noted, in no order, and touches no page
  // that note() did not: reading shared memory for the first time would allocate it.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      auto bits = used_blocks[block / 64].load(std::memory_order_relaxed);
      if ((bits >> (block % 64) & 1) == 0) continue;
      for (std::size_t i = block * kBlockSlots; i < (block + 1) * kBlockSlots; ++i) {
        std::uint64_t key = slots[i].key.load(std::memory_order_relaxed);
        if (key == 0) continue;
        visit(static_cast<std::uint32_t>((key >> 56) - 1), key & kMaxSeq,
              slots[i].flags.load(std::memory_order_relaxed));
      }
    }
  }
};

// Null if the memory cannot be had.
Ledger* make_ledger();

}  // namespace zazen
