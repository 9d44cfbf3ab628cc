// The members of a chunk as a list of positions, for chunks that have few: what is done with
// them then takes a time that goes with the members, not with the 65,536 frames.
//
// Positions are ascending, each once.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "coord/sets/chunk_bits.h"

namespace zazen {

// A list's at most.
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
  // Those of `whole` whose bit is set; false if there are not as many bits as positions, the
  // rest of the last word zero.
  bool select(std::span<const std::uint16_t> whole, std::span<const std::byte> bits);
  // What a node has of a chunk, and `more`, without `lost`, with `adopted`; together at most
  // kFewMembers. False if something is lost that was not there, or adopted that was.
  bool revise(std::span<const std::uint16_t> had, std::span<const std::uint16_t> more,
              std::span<const std::uint16_t> lost, std::span<const std::uint16_t> adopted);

 private:
  // select() and revise() write a position before they know whether it counts.
  std::array<std::uint16_t, kFewMembers + 1> positions_;
  std::size_t size_ = 0;
};

Extent extent_of(std::span<const std::uint16_t> positions);
// The bytes written, 0 if they would be more than `most`.
std::size_t write_gaps(std::span<const std::uint16_t> positions, std::size_t most,
                       std::byte* out);

}  // namespace zazen
