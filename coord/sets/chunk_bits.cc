#include "coord/sets/chunk_bits.h"

#include <algorithm>
#include <cstring>

#include "coord/sets/per_processor.h"

namespace zazen {
namespace {

// Inlined into both versions of a loop.
#define ZAZEN_INLINE [[gnu::always_inline]] inline

ZAZEN_INLINE std::uint64_t load(const std::byte* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The word of a position, and the position's bit in it.
struct WordBit {
  ZAZEN_INLINE WordBit(std::byte* words, std::size_t position)
      : at(words + position / 64 * sizeof(std::uint64_t)),
        word(load(at)),
        bit(std::uint64_t{1} << (position % 64)) {}
  ZAZEN_INLINE void store(std::uint64_t changed) { std::memcpy(at, &changed, sizeof changed); }
  std::byte* at;
  std::uint64_t word, bit;
};

// The number of the lowest bit; 63 for zero, so that no branch tests for it.
ZAZEN_INLINE std::size_t lowest(std::uint64_t bits) {
  return static_cast<std::size_t>(std::countr_zero(bits | std::uint64_t{1} << 63));
}

// Always writes kAtOnce members for each word, also if it has fewer: a branch on their number
// would be unpredictable.
template <std::size_t kAtOnce>
ZAZEN_INLINE void list_words(const ChunkWords& words, std::uint16_t* out) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint64_t bits = words[w];
    const auto members = static_cast<std::size_t>(std::popcount(bits));
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kAtOnce; ++i, bits &= bits - 1)
      out[i] = static_cast<std::uint16_t>(w * 64 + lowest(bits));
    for (std::size_t i = kAtOnce; i < members; ++i, bits &= bits - 1)
      out[i] = static_cast<std::uint16_t>(w * 64 + lowest(bits));
    out += members;
  }
}

}  // namespace

ZAZEN_PER_PROCESSOR std::size_t count_members(const ChunkWords& words) {
  std::size_t sums[4] = {};
  for (std::size_t w = 0; w < words.size(); w += 4)
    for (std::size_t i = 0; i < 4; ++i)
      sums[i] += static_cast<std::size_t>(std::popcount(words[w + i]));
  return sums[0] + sums[1] + sums[2] + sums[3];
}

bool any_bit(const ChunkWords& words) {
  std::uint64_t all = 0;
  for (std::uint64_t word : words) all |= word;
  return all != 0;
}

ZAZEN_PER_PROCESSOR Extent extent_of(std::span<const std::uint64_t> words) {
  Extent extent;
  std::uint64_t before = 0;  // the top bit of the last word
  for (std::uint64_t word : words) {
    extent.members += static_cast<std::size_t>(std::popcount(word));
    extent.runs += static_cast<std::size_t>(std::popcount(word & ~(word << 1 | before)));
    before = word >> 63;
  }
  return extent;
}

// Prefetches the next words: the next chunk of the same node is likely to be a bitmap, too, and
// to follow this one. Other nodes' chunks come first, which gives the time for it.
ZAZEN_PER_PROCESSOR std::size_t unite(std::span<const std::byte, sizeof(ChunkWords)> words,
                                      ChunkWords* into) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  std::size_t sums[4] = {};
  for (std::size_t w = 0; w < into->size(); w += kLine) {
    const std::byte* at = words.data() + w * sizeof(std::uint64_t);
    __builtin_prefetch(at + sizeof(ChunkWords));
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLine; ++i) {
      const std::uint64_t word = load(at + i * sizeof word);
      (*into)[w + i] |= word;
      sums[i % 4] += static_cast<std::size_t>(std::popcount(word));
    }
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

ZAZEN_PER_PROCESSOR void count_in(const ChunkWords& words, ChunkWords* once,
                                  ChunkWords* twice) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint64_t bits = words[w], one = (*once)[w];
    (*twice)[w] |= one & bits;
    (*once)[w] = one | bits;
  }
}

ZAZEN_PER_PROCESSOR std::size_t intersect(const ChunkWords& a, const ChunkWords& b,
                                          ChunkWords* out) {
  std::size_t sums[2] = {};
  for (std::size_t w = 0; w < out->size(); w += 2)
    for (std::size_t i = 0; i < 2; ++i) {
      (*out)[w + i] = a[w + i] & b[w + i];
      sums[i] += static_cast<std::size_t>(std::popcount((*out)[w + i]));
    }
  return sums[0] + sums[1];
}

ZAZEN_PER_PROCESSOR bool revise(std::span<std::byte, sizeof(ChunkWords)> words,
                                const ChunkWords& more, const ChunkWords& lost,
                                const ChunkWords& adopted) {
  std::uint64_t wrong = 0;
  for (std::size_t w = 0; w < more.size(); ++w) {
    std::byte* at = words.data() + w * sizeof(std::uint64_t);
    const std::uint64_t has = load(at) | more[w];
    wrong |= (lost[w] & ~has) | (adopted[w] & has);
    const std::uint64_t word = has ^ (lost[w] | adopted[w]);
    std::memcpy(at, &word, sizeof word);
  }
  return wrong == 0;
}

ZAZEN_PER_PROCESSOR bool merge(std::span<const std::uint16_t> positions,
                               std::span<const std::byte> lost,
                               std::span<std::byte, sizeof(ChunkWords)> into) {
  std::byte* words = into.data();
  const std::size_t count = positions.size();
  std::uint64_t had = 0;
  if (lost.empty())
    for (std::size_t i = 0; i < count; ++i) {
      WordBit it(words, positions[i]);
      had |= it.word & it.bit;
      it.store(it.word | it.bit);
    }
  for (std::size_t i = 0; !lost.empty() && i < count; i += 64) {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - std::min<std::size_t>(64, count - i));
    const std::uint64_t gone = load(lost.data() + i / 8);
    for (std::uint64_t bits = all & ~gone; bits != 0; bits &= bits - 1) {
      WordBit it(words, positions[i + static_cast<std::size_t>(std::countr_zero(bits))]);
      had |= it.word & it.bit;
      it.store(it.word | it.bit);
    }
    for (std::uint64_t bits = gone; bits != 0; bits &= bits - 1) {
      const WordBit it(words, positions[i + static_cast<std::size_t>(std::countr_zero(bits))]);
      had |= it.word & it.bit;
    }
  }
  if (had == 0) return true;
  for (std::size_t i = 0; !lost.empty() && i < count; i += 64)
    for (std::uint64_t bits = load(lost.data() + i / 8); bits != 0; bits &= bits - 1) {
      WordBit it(words, positions[i + static_cast<std::size_t>(std::countr_zero(bits))]);
      it.store(it.word & ~it.bit);
    }
  return false;
}

ZAZEN_PER_PROCESSOR void list_members(const ChunkWords& words, std::size_t count,
                                      std::uint16_t* out) {
  const std::size_t average = count / words.size();
  if (average < 1)
    list_words<3>(words, out);
  else if (average < 4)
    list_words<6>(words, out);
  else
    list_words<kListRoom>(words, out);
}

}  // namespace zazen
