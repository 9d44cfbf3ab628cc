// Gaps: the form of a chunk with few members, one byte for each. A byte b below 255 skips b
// frames before the next member; 255 skips 255 frames without a member. In memory the members
// are a list of positions, ascending and unique.
//
// The time depends on the members, not on the 65,536 frames of a chunk.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "coord/sets/chunk_bits.h"

namespace zazen {

// Longer gaps are never written and refused: a bitmap is not much larger, and read faster.
inline constexpr std::size_t kMostGaps = sizeof(ChunkWords) * 3 / 4;

// `positions` has room for a position of each byte. False, with undefined positions, if the
// gaps are malformed: not `count` members, or one of them not below `limit`.
bool read_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit,
               std::uint16_t* positions);
// Returns the bytes written, 0 if they would be more than `most`.
std::size_t write_gaps(std::span<const std::uint16_t> positions, std::size_t most,
                       std::byte* out);

}  // namespace zazen
