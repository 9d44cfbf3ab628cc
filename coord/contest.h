// Contested frames of one chunk, each given to the claimant that is least loaded so far.
//
// The load of a node is what it has won, times what a frame adds to it: less for a node with
// more ranks. Of equals the one that stands first in the list wins.
#pragma once
#include <cstdint>
#include <span>

#include "coord/chunk_bits.h"

namespace zazen {

struct Claimant {
  std::uint64_t* row;  // the words of its claims; in the end, of those that it has lost
  std::uint64_t wins;  // counted on
  std::uint64_t step;  // what a frame adds; a multiple of kClaimantsAtMost
};
inline constexpr std::size_t kClaimantsAtMost = 65'536;

// Every contested frame is in a row, and leaves the row of the winner.
void settle(const ChunkWords& contested, std::span<Claimant> claimants);

}  // namespace zazen
