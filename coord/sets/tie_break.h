// Decides the contested frames of one chunk: each goes to the claimant that is least loaded so
// far.
//
// The load of a node is its number of wins, times the step that a frame adds: less for a node
// with more ranks. Of equal claimants the first one in the list wins.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "coord/sets/chunk_bits.h"

namespace zazen {

struct Claimant {
  std::uint64_t* row;  // the words of its claims; afterwards those that it has lost
  std::uint64_t wins;  // updated
  std::uint64_t step;  // the load of a frame; a multiple of kClaimantsAtMost
};
inline constexpr std::size_t kClaimantsAtMost = 65'536;

// Every contested frame is in a row; break_ties() removes it from the row of the winner.
void break_ties(const ChunkWords& contested, std::span<Claimant> claimants);

// The same for claims as lists of positions, by a mask for each frame with a bit for each
// claimant. The time is in proportion to the claims, not to frames times claimants.
struct FewClaims {
  std::span<const std::uint16_t> positions;
  std::uint64_t* lost;  // a bit for each; afterwards set for those that it has lost
  std::uint64_t wins;   // updated
  std::uint64_t step;
};

class MaskTieBreak {
 public:
  // Needs AVX2 and at most 16 claimants.
  static bool suits(std::size_t claimants);

  // First enter() the claims; claimed() then has the frames that a claimant claims. Then
  // break_ties() with the same claimants, or withdraw(). break_ties() first awards the frames
  // with one claim.
  void enter(std::span<const FewClaims> claimants);
  const ChunkWords& claimed() const { return claimed_; }
  void break_ties(std::span<FewClaims> claimants);
  void withdraw();

 private:
  void win_alone(std::span<FewClaims> claimants, std::size_t count);

  ChunkWords claimed_{}, contested_{};
  std::vector<std::uint16_t> masks_;  // by position; 0: no claim
  std::vector<std::uint16_t> positions_;
};

}  // namespace zazen
