// FrameCursor: walks through the frames of a dataset in rounds, a bounded slice at a time.
//
// A frame that is added, removed or moved between two slices may appear twice in a round or not
// at all; the next round has it. The caller holds the lock of the tables.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "daemon/capacity/frame_table.h"

namespace zazen {

class FrameCursor {
 public:
  static constexpr std::uint64_t kFrames = 1'000, kSlots = 1'024;  // a slice is below their sum

  std::vector<FrameSeq> next(const std::array<const FrameTable*, 2>& tables) {
    std::vector<FrameSeq> frames;
    for (int ends = 0; ends < 2 && frames.size() < kFrames;) {
      position_ = tables[table_]->look(
          position_, kSlots, [&](FrameSeq seq, std::uint64_t) { frames.push_back(seq); });
      if (position_ != 0) continue;
      table_ = 1 - table_;
      ++ends;
    }
    return frames;
  }

 private:
  std::size_t table_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace zazen
