// The bits of one chunk of 65,536 frames, and the loops over them in which the protocol spends
// its time (per_processor.h). 8 KB: a few of them fit into the first-level cache.
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
  std::size_t runs = 0;  // of consecutive members
};
// The words may be those of a chunk's beginning.
Extent extent_of(std::span<const std::uint64_t> words);

// into |= the words of a whole chunk; returns the number of their members.
std::size_t unite(std::span<const std::byte, sizeof(ChunkWords)> words, ChunkWords* into);

// Adds a node's frames to those on at least one node, and to those on at least two.
void count_in(const ChunkWords& words, ChunkWords* once, ChunkWords* twice);

// out = a & b; returns the number of members.
std::size_t intersect(const ChunkWords& a, const ChunkWords& b, ChunkWords* out);

// The change of a node's part of a chunk: adds `more`, removes `lost`, adds `adopted`. False if
// a lost frame was not present, or an adopted one was.
bool revise(std::span<std::byte, sizeof(ChunkWords)> words, const ChunkWords& more,
            const ChunkWords& lost, const ChunkWords& adopted);

// Adds the positions to a chunk's words, but removes those whose bit in `lost` is set (an empty
// `lost`: none). False, with the same result, if the words had one of them already.
bool merge(std::span<const std::uint16_t> positions, std::span<const std::byte> lost,
           std::span<std::byte, sizeof(ChunkWords)> words);

// The positions of the `count` members. `out` needs room for kListRoom more.
inline constexpr std::size_t kListRoom = 8;
void list_members(const ChunkWords& words, std::size_t count, std::uint16_t* out);

template <class Visit>
void for_each_bit(std::span<const std::uint64_t> words, Visit&& visit) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::uint64_t bits = words[w]; bits != 0; bits &= bits - 1)
      visit(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
}

}  // namespace zazen
