// The bits of one chunk of 65,536 frames, and the loops over them in which the protocol spends
// its time. 8 KB: a few of them fit into the first-level cache.
//
// The build is for any x86-64; each loop is there a second time for a processor with AVX2 and
// BMI, which does it two to five times as fast.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zazen {

inline constexpr std::size_t kChunkFrames = 65'536;
using ChunkWords = std::array<std::uint64_t, kChunkFrames / 64>;

std::size_t count_members(const ChunkWords& words);
bool any_bit(const ChunkWords& words);

struct Extent {
  std::size_t members = 0;
  std::size_t runs = 0;  // of members that stand next to each other
};
Extent extent_of(const ChunkWords& words);

// into |= the words of a whole chunk; returns the number of their members.
std::size_t unite(std::span<const std::byte, sizeof(ChunkWords)> words, ChunkWords* into);

// Adds the frames of a node to those on at least one node, and on at least two.
void count_in(const ChunkWords& words, ChunkWords* once, ChunkWords* twice);

// out = a & b; returns the number of members.
std::size_t intersect(const ChunkWords& a, const ChunkWords& b, ChunkWords* out);

// What a node has of a chunk becomes what it has and `more`, without `lost`, with `adopted`.
struct Revised {
  bool sensible;  // what is lost was there, what is adopted was not
  bool disjoint;  // it had none of `more`
};
Revised revise(std::span<std::byte, sizeof(ChunkWords)> words, const ChunkWords& more,
               const ChunkWords& lost, const ChunkWords& adopted);

// Adds the positions to a chunk's words, but takes away those whose bit in `lost` is set; no
// bits: none. False, with the same outcome, if the words had one of them already.
bool merge(std::span<const std::uint16_t> positions, std::span<const std::byte> lost,
           std::span<std::byte, sizeof(ChunkWords)> words);

// Gaps: one byte b for each member: b frames are left out before it; 255: 255 without a member.
// What they say replaces `words`. False, and anything in `words`, if they are malformed: not
// `count` members, or one of them not below `limit`.
bool read_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit,
               ChunkWords* words);
// The same, added to what `words` has.
bool add_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit,
              ChunkWords* words);

// The positions of the members, of which there are `count`. The room is for kListRoom more.
inline constexpr std::size_t kListRoom = 8;
void list_members(const ChunkWords& words, std::size_t count, std::uint16_t* out);

// The bits of `words` at the members of `mask`, packed: one for each member, in their order.
// The rest of the last word of `out` is zero. Returns how many words there are.
std::size_t gather_bits(const ChunkWords& words, const ChunkWords& mask, ChunkWords* out);
// The other way round; false if `packed` is not of the size that it should have, or has a bit
// beyond the members of the mask.
bool scatter_bits(std::span<const std::byte> packed, const ChunkWords& mask, ChunkWords* words);

template <class Visit>
void for_each_bit(const ChunkWords& words, Visit&& visit) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::uint64_t bits = words[w]; bits != 0; bits &= bits - 1)
      visit(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
}

}  // namespace zazen
