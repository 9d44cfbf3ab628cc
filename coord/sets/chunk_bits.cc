// Each loop is a function that is always inlined: into a version for any processor and, on
// x86-64, into one for processors with AVX2 and BMI.
#include "coord/sets/chunk_bits.h"

#include <algorithm>
#include <cstring>

// A test compiles only the loops for any processor.
#if defined(__x86_64__) && !defined(ZAZEN_ANY_PROCESSOR)
#define ZAZEN_TWO_VERSIONS 1
#else
#define ZAZEN_TWO_VERSIONS 0
#endif

#if ZAZEN_TWO_VERSIONS
#include <immintrin.h>
#endif

#if ZAZEN_TWO_VERSIONS
#define ZAZEN_LOOP(result, name, parameters, ...)                                   \
  [[gnu::target("avx2,bmi,bmi2,popcnt")]] result name##_by_avx2 parameters {        \
    return name##_loop(__VA_ARGS__);                                                \
  }                                                                                 \
  result name##_anywhere parameters {                                               \
    return name##_loop(__VA_ARGS__);                                                \
  }                                                                                 \
  result name##_here parameters {                                                   \
    return has_avx2() ? name##_by_avx2(__VA_ARGS__) : name##_anywhere(__VA_ARGS__); \
  }
#else
#define ZAZEN_LOOP(result, name, parameters, ...) \
  result name##_here parameters {                 \
    return name##_loop(__VA_ARGS__);              \
  }
#endif

namespace zazen {
namespace {

#define ZAZEN_INLINE [[gnu::always_inline]] inline

constexpr std::size_t kWords = kChunkFrames / 64;

#if ZAZEN_TWO_VERSIONS
bool has_avx2() {
  static const bool has =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
      __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  return has;
}
#endif

ZAZEN_INLINE std::uint64_t load(const std::byte* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

ZAZEN_INLINE std::size_t count_loop(const ChunkWords& words) {
  std::size_t sums[4] = {};
  for (std::size_t w = 0; w < words.size(); w += 4)
    for (std::size_t i = 0; i < 4; ++i)
      sums[i] += static_cast<std::size_t>(std::popcount(words[w + i]));
  return sums[0] + sums[1] + sums[2] + sums[3];
}
ZAZEN_LOOP(std::size_t, count, (const ChunkWords& words), words)

ZAZEN_INLINE Extent extent_loop(std::span<const std::uint64_t> words) {
  Extent extent;
  std::uint64_t before = 0;  // the top bit of the last word
  for (std::uint64_t word : words) {
    extent.members += static_cast<std::size_t>(std::popcount(word));
    extent.runs += static_cast<std::size_t>(std::popcount(word & ~(word << 1 | before)));
    before = word >> 63;
  }
  return extent;
}
ZAZEN_LOOP(Extent, extent, (std::span<const std::uint64_t> words), words)

// Prefetches the next words: the next chunk of the same node is likely to be a bitmap, too, and
// to follow this one. Other nodes' chunks come first, which gives the time for it.
ZAZEN_INLINE std::size_t unite_loop(const std::byte* words, ChunkWords& into) {
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  std::size_t sums[4] = {};
  for (std::size_t w = 0; w < into.size(); w += kLine) {
    const std::byte* at = words + w * sizeof(std::uint64_t);
    __builtin_prefetch(at + sizeof(ChunkWords));
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kLine; ++i) {
      const std::uint64_t word = load(at + i * sizeof word);
      into[w + i] |= word;
      sums[i % 4] += static_cast<std::size_t>(std::popcount(word));
    }
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}
ZAZEN_LOOP(std::size_t, unite, (const std::byte* words, ChunkWords& into), words, into)

ZAZEN_INLINE void count_in_loop(const ChunkWords& words, ChunkWords& once, ChunkWords& twice) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint64_t bits = words[w], one = once[w];
    twice[w] |= one & bits;
    once[w] = one | bits;
  }
}
ZAZEN_LOOP(void, count_in, (const ChunkWords& words, ChunkWords& once, ChunkWords& twice),
           words, once, twice)

ZAZEN_INLINE std::size_t intersect_loop(const ChunkWords& a, const ChunkWords& b,
                                        ChunkWords& out) {
  std::size_t sums[2] = {};
  for (std::size_t w = 0; w < out.size(); w += 2)
    for (std::size_t i = 0; i < 2; ++i) {
      out[w + i] = a[w + i] & b[w + i];
      sums[i] += static_cast<std::size_t>(std::popcount(out[w + i]));
    }
  return sums[0] + sums[1];
}
ZAZEN_LOOP(std::size_t, intersect, (const ChunkWords& a, const ChunkWords& b, ChunkWords& out),
           a, b, out)

ZAZEN_INLINE bool revise_loop(std::byte* words, const ChunkWords& more, const ChunkWords& lost,
                              const ChunkWords& adopted) {
  std::uint64_t wrong = 0;
  for (std::size_t w = 0; w < more.size(); ++w) {
    std::byte* at = words + w * sizeof(std::uint64_t);
    const std::uint64_t has = load(at) | more[w];
    wrong |= (lost[w] & ~has) | (adopted[w] & has);
    const std::uint64_t word = has ^ (lost[w] | adopted[w]);
    std::memcpy(at, &word, sizeof word);
  }
  return wrong == 0;
}
ZAZEN_LOOP(bool, revise,
           (std::byte * words, const ChunkWords& more, const ChunkWords& lost,
            const ChunkWords& adopted),
           words, more, lost, adopted)

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

ZAZEN_INLINE bool merge_loop(const std::uint16_t* positions, std::size_t count,
                             const std::byte* lost, std::byte* words) {
  std::uint64_t had = 0;
  if (lost == nullptr)
    for (std::size_t i = 0; i < count; ++i) {
      WordBit it(words, positions[i]);
      had |= it.word & it.bit;
      it.store(it.word | it.bit);
    }
  for (std::size_t i = 0; lost != nullptr && i < count; i += 64) {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - std::min<std::size_t>(64, count - i));
    const std::uint64_t gone = load(lost + i / 8);
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
  for (std::size_t i = 0; lost != nullptr && i < count; i += 64)
    for (std::uint64_t bits = load(lost + i / 8); bits != 0; bits &= bits - 1) {
      WordBit it(words, positions[i + static_cast<std::size_t>(std::countr_zero(bits))]);
      it.store(it.word & ~it.bit);
    }
  return false;
}
ZAZEN_LOOP(bool, merge,
           (const std::uint16_t* positions, std::size_t count, const std::byte* lost,
            std::byte* words),
           positions, count, lost, words)

// The operation of the instruction TZCNT.
struct AnyBits {
  // Without a test for zero: then the result is 63.
  static std::size_t lowest(std::uint64_t bits) {
    return static_cast<std::size_t>(std::countr_zero(bits | std::uint64_t{1} << 63));
  }
};

// Always writes kAtOnce members for each word, also if it has fewer: a branch on their number
// would be unpredictable.
template <class Bits, std::size_t kAtOnce>
ZAZEN_INLINE void list_words(const ChunkWords& words, std::uint16_t* out) {
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint64_t bits = words[w];
    const auto members = static_cast<std::size_t>(std::popcount(bits));
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kAtOnce; ++i, bits &= bits - 1)
      out[i] = static_cast<std::uint16_t>(w * 64 + Bits::lowest(bits));
    for (std::size_t i = kAtOnce; i < members; ++i, bits &= bits - 1)
      out[i] = static_cast<std::uint16_t>(w * 64 + Bits::lowest(bits));
    out += members;
  }
}
template <class Bits>
ZAZEN_INLINE void list_loop(const ChunkWords& words, std::size_t count, std::uint16_t* out) {
  const std::size_t average = count / words.size();
  if (average < 1)
    list_words<Bits, 3>(words, out);
  else if (average < 4)
    list_words<Bits, 6>(words, out);
  else
    list_words<Bits, kListRoom>(words, out);
}

#if ZAZEN_TWO_VERSIONS
struct BmiBits {
  [[gnu::target("bmi")]] static std::size_t lowest(std::uint64_t bits) {
    return _tzcnt_u64(bits);
  }
};

[[gnu::target("avx2,bmi,bmi2,popcnt")]] void list_by_bmi(const ChunkWords& words,
                                                         std::size_t count,
                                                         std::uint16_t* out) {
  list_loop<BmiBits>(words, count, out);
}
#endif

}  // namespace

std::size_t count_members(const ChunkWords& words) {
  return count_here(words);
}

bool any_bit(const ChunkWords& words) {
  std::uint64_t all = 0;
  for (std::uint64_t word : words) all |= word;
  return all != 0;
}

Extent extent_of(std::span<const std::uint64_t> words) {
  return extent_here(words);
}

std::size_t unite(std::span<const std::byte, sizeof(ChunkWords)> words, ChunkWords* into) {
  return unite_here(words.data(), *into);
}

void count_in(const ChunkWords& words, ChunkWords* once, ChunkWords* twice) {
  count_in_here(words, *once, *twice);
}

std::size_t intersect(const ChunkWords& a, const ChunkWords& b, ChunkWords* out) {
  return intersect_here(a, b, *out);
}

bool revise(std::span<std::byte, sizeof(ChunkWords)> words, const ChunkWords& more,
            const ChunkWords& lost, const ChunkWords& adopted) {
  return revise_here(words.data(), more, lost, adopted);
}

bool merge(std::span<const std::uint16_t> positions, std::span<const std::byte> lost,
           std::span<std::byte, sizeof(ChunkWords)> words) {
  return merge_here(positions.data(), positions.size(), lost.empty() ? nullptr : lost.data(),
                    words.data());
}

void list_members(const ChunkWords& words, std::size_t count, std::uint16_t* out) {
#if ZAZEN_TWO_VERSIONS
  if (has_avx2()) return list_by_bmi(words, count, out);
#endif
  list_loop<AnyBits>(words, count, out);
}

}  // namespace zazen
