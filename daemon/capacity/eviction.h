// Eviction: which aliens give way when the cache is full (D16). It decides by dataset; memory
// only, no lock: RoomLedger has both.
//
// - Natives never go by themselves: a writer was told that they are stored, and who pushed them
//   need not have them elsewhere. `zazenctl evict` drops them. Pinned frames never go, either.
// - A native takes the place of aliens at once, those of the longest unused dataset first
//   (RoomLedger: the owner's own aliens before those of others).
// - An alien takes the place of aliens of idle datasets at once, the longest unused first. A
//   dataset is idle when kIdleFills misses of others have come since it was last used: opened,
//   pushed to, or asked about (dataset_uses.h). So it is by use and not by time, and a slow
//   job's dataset does not become idle merely because nobody else does anything.
// - Where no dataset is idle, one miss of kAdmitOneOf is let in, in the place of random aliens.
//   A loop over a dataset twice as large as the cache then finds 49% of it from the second pass
//   on (with every miss let in it would be 20%, with LRU nothing); and a program whose interest
//   moves within a dataset is followed, in a few passes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

constexpr std::uint64_t excess(std::uint64_t wanted, std::uint64_t limit) {
  return wanted > limit ? wanted - limit : 0;
}

struct Room {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  bool none() const { return bytes == 0 && files == 0; }
  void add(std::uint64_t more_bytes) { bytes += more_bytes, files += 1; }
  void take(std::uint64_t fewer_bytes) {  // it may have been added before its size was known
    bytes -= std::min(bytes, fewer_bytes);
    files -= std::min<std::uint64_t>(files, 1);
  }
  bool covers(const Room& need) const { return bytes >= need.bytes && files >= need.files; }
};

// kLater: a frame that nobody has opened yet (`zazenctl warm`). It takes the place of aliens of
// idle datasets only, so a warming never drops what it has just brought.
// kAdmitted: the rest of a frame for which copies went already.
enum class Wanted { kNow, kLater, kAdmitted };

class Eviction {
 public:
  static constexpr std::uint64_t kIdleFills = 256;
  static constexpr std::uint64_t kAdmitOneOf = 16;

  explicit Eviction(std::size_t datasets, std::uint64_t seed = std::random_device{}())
      : random_(seed), used_at_(datasets) {}

  // So many fills were asked for since the last time, and these datasets were used. To be
  // called about once a second.
  void note_fills(std::uint64_t fills, std::span<const std::uint32_t> datasets);
  // Frames of it are pushed, or brought before they are opened.
  void note_use(std::uint32_t dataset) { used_at_[dataset] = clock_; }
  bool is_idle(std::uint32_t dataset) const { return clock_ - used_at_[dataset] >= kIdleFills; }

  // The datasets that make room for a frame of `dataset`, in the order in which they do; empty
  // if the frame is not let in. `evictable` says what each of them could give.
  std::vector<std::uint32_t> who_gives_way(std::uint32_t dataset, FrameKind kind, Room need,
                                           std::span<const Room> evictable,
                                           Wanted wanted = Wanted::kNow);
  std::vector<std::uint32_t> longest_unused_first() const;
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
  std::uint64_t clock_ = 0;             // fills of all datasets
  std::vector<std::uint64_t> used_at_;  // the clock then
};

}  // namespace zazen
