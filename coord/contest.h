// Contested frames of one chunk, each given to the claimant that is least loaded so far.
//
// The load of a node is what it has won, times what a frame adds to it: less for a node with
// more ranks. Of equals the one that stands first in the list wins.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

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

// The same where claims are few: those of a frame are in a list, which takes a time that goes
// with the claims, not with frames times claimants.
struct FewClaims {
  std::span<const std::uint16_t> positions;
  std::uint64_t* lost;  // a bit for each; in the end, of those that it has lost
  std::uint64_t wins;   // counted on
  std::uint64_t step;
};

class SparseContest {
 public:
  // Frames that one claimant alone has are won first. `claimed` becomes the frames that anybody
  // claims.
  void settle(std::span<FewClaims> claimants, ChunkWords* claimed);

 private:
  struct Claim {
    std::uint32_t next;  // claim on the same frame, from 1 on; 0: none
    std::uint32_t claimant;
    std::uint32_t number;  // among the claimant's positions
  };
  std::vector<std::uint32_t> heads_;  // by position; 0: no claim
  std::vector<Claim> claims_;
};

}  // namespace zazen
