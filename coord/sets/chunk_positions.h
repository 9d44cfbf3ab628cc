// The members of a chunk as a list of positions, for chunks with few members. The time of an
// operation depends on the members, not on the 65,536 frames.
//
// Positions are ascending and unique.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "coord/sets/chunk_bits.h"

namespace zazen {

// The largest list.
inline constexpr std::size_t kFewMembers = 4096;

class ChunkPositions {
 public:
  std::span<const std::uint16_t> all() const { return {positions_.data(), size_}; }
  std::size_t size() const { return size_; }

  void clear() { size_ = 0; }
  void append(std::size_t position) {
    positions_[size_++] = static_cast<std::uint16_t>(position);
  }
  // Gaps (chunk_bits.h), at most kFewMembers bytes of them. False if they are malformed.
  bool read_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit);
  // Selects the members of `whole` whose bit is set; false if the number of bits does not match
  // the positions, or the rest of the last word is not zero.
  bool select(std::span<const std::uint16_t> whole, std::span<const std::byte> bits);
  // A node's part of a chunk, plus `more`, without `lost`, with `adopted`; together at most
  // kFewMembers. False if a lost frame was not present, or an adopted one was.
  bool revise(std::span<const std::uint16_t> had, std::span<const std::uint16_t> more,
              std::span<const std::uint16_t> lost, std::span<const std::uint16_t> adopted);

 private:
  // select() and revise() write a position before they know whether it counts.
  std::array<std::uint16_t, kFewMembers + 1> positions_;
  std::size_t size_ = 0;
};

Extent extent_of(std::span<const std::uint16_t> positions);
// Returns the bytes written, 0 if they would be more than `most`.
std::size_t write_gaps(std::span<const std::uint16_t> positions, std::size_t most,
                       std::byte* out);

}  // namespace zazen
