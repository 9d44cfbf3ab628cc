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

// Every contested frame is in a row; settle() removes it from the row of the winner.
void settle(const ChunkWords& contested, std::span<Claimant> claimants);

// The same for few claims, as lists of positions. The time is in proportion to the claims, not
// to frames times claimants.
struct FewClaims {
  std::span<const std::uint16_t> positions;
  std::uint64_t* lost;  // a bit for each; afterwards set for those that it has lost
  std::uint64_t wins;   // updated
  std::uint64_t step;
};

// With up to 16 claimants, each frame has a mask with a bit for each of them. With more, or on
// a processor without AVX2, the claims of a frame are in a linked list.
class SparseTieBreak {
 public:
  // Whether this number of claims is settled faster than in rows.
  static bool suits(std::size_t claimants, std::size_t claims);

  // First enter() the claims; claimed() then has the frames that a claimant claims. Then
  // settle() with the same claimants, or discard. settle() first awards the frames with one
  // claim.
  void enter(std::span<const FewClaims> claimants);
  const ChunkWords& claimed() const { return claimed_; }
  void settle(std::span<FewClaims> claimants);
  void withdraw();

 private:
  struct Claim {
    std::uint32_t next;  // the next claim on the same frame, from 1 on; 0: none
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
