// Ledger: which frames were listed and opened, and how often, by all processes that share it. A
// job under `zazenctl run` has one on each node (run_record.h). A rank has one of its own if
// ZAZEN_REPORT asks for a report and the rank has no view. A sparse hash table of fixed size in
// shared memory: plain atomics, no lock, no allocation. Lean.
//
// The memory may be a file on a full disk, where the first write to a page would raise SIGBUS.
// So can_write asks the kernel first. A frame whose page cannot be allocated sets `overflowed`.
#pragma once
#include <atomic>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

inline std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

// Maps a text (the path of a dataset, the arguments of a command) to a number that is never 0.
inline std::uint64_t text_key(const char* text) {
  std::uint64_t key = 0xcbf29ce484222325ULL;
  for (; *text != '\0'; ++text) {
    key = (key ^ static_cast<unsigned char>(*text)) * 0x100000001b3ULL;
  }
  key = mix_bits(key);
  return key == 0 ? 1 : key;
}

struct Ledger {
  static constexpr std::size_t kSlots = std::size_t{1} << 22;  // pages are touched as needed
  static constexpr std::uint32_t kListed = 1, kOpened = 2;
  static constexpr FrameSeq kMaxSeq = (FrameSeq{1} << 54) - 1;
  static constexpr std::uint32_t kDatasets = 255;
  static constexpr std::uint32_t kNoDataset = kDatasets;

  static constexpr std::size_t kBlockSlots = 512;  // one page
  static constexpr std::size_t kBlocks = kSlots / kBlockSlots;

  std::atomic<std::uint64_t> frames;  // opened, each counted once
  std::atomic<std::uint64_t> hits;    // opens
  std::atomic<std::uint64_t> misses;
  std::atomic<std::uint64_t> bytes_local;  // sizes of frames, by the source of the first open
  std::atomic<std::uint64_t> bytes_origin;
  std::atomic<std::uint32_t> overflowed;  // a frame could not be noted: the counts are too low
  std::atomic<std::uint64_t> used_blocks[kBlocks / 64];  // bitmap of the blocks written to
  std::atomic<std::uint64_t> dataset_keys[kDatasets];    // 0: free
  std::atomic<std::uint8_t> has_path[kDatasets];
  alignas(4096) char paths[kDatasets][kMaxPath];
  // (dataset + 1) << 56 | seq << 2 | flags; 0: free
  alignas(4096) std::atomic<std::uint64_t> slots[kSlots];

  // The number of a dataset in this ledger; kNoDataset if it has too many datasets.
  std::uint32_t dataset_of(std::uint64_t key, const char* path);

  void keep_path(std::uint32_t dataset, const char* path);

  // Notes flags for a frame; true if they are new. A number above kMaxSeq has no slot and sets
  // `overflowed`, as kNoDataset does.
  bool note(std::uint32_t dataset, FrameSeq seq, std::uint32_t flags);

  // "" if it could not be kept.
  const char* path_of(std::uint32_t dataset) const {
    return has_path[dataset].load(std::memory_order_acquire) != 0 ? paths[dataset] : "";
  }

  // Calls visit(dataset, seq, flags) for each noted frame, in no order. Touches no page that
  // note() did not: reading shared memory for the first time would allocate it.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      auto bits = used_blocks[block / 64].load(std::memory_order_relaxed);
      if ((bits >> (block % 64) & 1) == 0) continue;
      for (std::size_t i = block * kBlockSlots; i < (block + 1) * kBlockSlots; ++i) {
        std::uint64_t slot = slots[i].load(std::memory_order_relaxed);
        if (slot == 0) continue;
        visit(static_cast<std::uint32_t>((slot >> 56) - 1), slot >> 2 & kMaxSeq,
              static_cast<std::uint32_t>(slot & 3));
      }
    }
  }
};

// Null if there is no memory.
Ledger* make_ledger();

}  // namespace zazen
