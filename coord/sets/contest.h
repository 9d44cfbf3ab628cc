// Contested frames of one chunk, each given to the claimant that is least loaded so far.
//
// The load of a node is what it has won, times what a frame adds to it: less for a node with
// more ranks. Of equals the one that stands first in the list wins.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "coord/sets/chunk_bits.h"

namespace zazen {

struct Claimant {
  std::uint64_t* row;  // the words of its claims; in the end, of those that it has lost
  std::uint64_t wins;  // counted on
  std::uint64_t step;  // what a frame adds; a multiple of kClaimantsAtMost
};
inline constexpr std::size_t kClaimantsAtMost = 65'536;

// Every contested frame is in a row, and leaves the row of the winner.
void settle(const ChunkWords& contested, std::span<Claimant> claimants);

// The same where claims are few, as lists of positions: it takes a time that goes with the
// claims, not with frames times claimants.
struct FewClaims {
  std::span<const std::uint16_t> positions;
  std::uint64_t* lost;  // a bit for each; in the end, of those that it has lost
  std::uint64_t wins;   // counted on
  std::uint64_t step;
};

// Up to 16 claimants have a bit each in a mask for each frame; beyond that, and on a processor
// without AVX2, the claims of a frame are in a list.
class SparseContest {
 public:
  // Whether that many claims are settled faster than in rows.
  static bool suits(std::size_t claimants, std::size_t claims);

  // First the claims are entered; claimed() are the frames that anybody claims. Then, with the
  // same claimants, they are settled, frames that one claimant alone has being won first, or
  // nothing becomes of them.
  void enter(std::span<const FewClaims> claimants);
  const ChunkWords& claimed() const { return claimed_; }
  void settle(std::span<FewClaims> claimants);
  void withdraw();

 private:
  struct Claim {
    std::uint32_t next;  // claim on the same frame, from 1 on; 0: none
    std::uint32_t claimant;
    std::uint32_t number;  // among the claimant's positions
  };

  void enter_lists(std::span<const FewClaims> claimants);
  void settle_lists(std::span<FewClaims> claimants);
  template <class Mask>
  void enter_masks(std::span<const FewClaims> claimants);
  template <class Mask>
  void settle_masks(std::span<FewClaims> claimants);
  template <class Mask>
  void win_alone(std::span<FewClaims> claimants, std::size_t count);
  template <class Mask>
  Mask* masks() {
    return reinterpret_cast<Mask*>(masks_.data());
  }

  ChunkWords claimed_{}, contested_{};
  std::vector<std::uint32_t> heads_;  // by position; 0: no claim
  std::vector<Claim> claims_;
  std::vector<std::uint16_t> masks_;  // by position, of 8 or 16 bits; 0: no claim
  std::vector<std::uint16_t> positions_;
};

}  // namespace zazen
