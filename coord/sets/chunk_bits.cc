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

// True if one of the eight bytes is 255.
ZAZEN_INLINE bool has_full_byte(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101ULL;
  return ((~bytes - kOnes) & bytes & kOnes << 7) != 0;
}

ZAZEN_INLINE std::size_t count_loop(const ChunkWords& words) {
  std::size_t sums[4] = {};
  for (std::size_t w = 0; w < words.size(); w += 4)
    for (std::size_t i = 0; i < 4; ++i)
      sums[i] += static_cast<std::size_t>(std::popcount(words[w + i]));
  return sums[0] + sums[1] + sums[2] + sums[3];
}
ZAZEN_LOOP(std::size_t, count, (const ChunkWords& words), words)

ZAZEN_INLINE Extent extent_loop(const ChunkWords& words) {
  Extent extent;
  std::uint64_t before = 0;  // the top bit of the last word
  for (std::uint64_t word : words) {
    extent.members += static_cast<std::size_t>(std::popcount(word));
    extent.runs += static_cast<std::size_t>(std::popcount(word & ~(word << 1 | before)));
    before = word >> 63;
  }
  return extent;
}
ZAZEN_LOOP(Extent, extent, (const ChunkWords& words), words)

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

ZAZEN_INLINE Revised revise_loop(std::byte* words, const ChunkWords& more,
                                 const ChunkWords& lost, const ChunkWords& adopted) {
  std::uint64_t wrong = 0, both = 0;
  for (std::size_t w = 0; w < more.size(); ++w) {
    std::byte* at = words + w * sizeof(std::uint64_t);
    const std::uint64_t had = load(at), has = had | more[w];
    const std::uint64_t changed = lost[w] | adopted[w];
    both |= had & more[w];
    wrong |= (lost[w] & ~has) | (adopted[w] & has);
    const std::uint64_t word = has ^ changed;
    std::memcpy(at, &word, sizeof word);
  }
  return {wrong == 0, both == 0};
}
ZAZEN_LOOP(Revised, revise,
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

// Calls visit(position, is_member) for each byte. Eight bytes that are all members, the usual
// case, are visited without a test. Gaps that lead past the chunk are detected at the end;
// until then positions wrap to its beginning.
template <class Visit>
ZAZEN_INLINE bool walk_gaps(const std::uint8_t* gaps, std::size_t size, std::size_t count,
                            std::size_t limit, Visit&& visit) {
  constexpr std::size_t kTogether = 8;
  std::size_t position = 0, members = size;
  for (std::size_t i = 0; i < size; i += kTogether) {
    const std::size_t end = std::min(i + kTogether, size);
    if (end == i + kTogether && position + 256 * kTogether <= kChunkFrames &&
        !has_full_byte(load(reinterpret_cast<const std::byte*>(gaps + i)))) {
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kTogether; ++k) {
        position += gaps[i + k];
        visit(position++, true);
      }
      continue;
    }
    for (std::size_t k = i; k < end; ++k) {
      const bool is_member = gaps[k] != 255;
      position += gaps[k];
      visit(position % kChunkFrames, is_member);
      position += is_member;
      members -= !is_member;
    }
  }
  const bool ended = size == 0 || gaps[size - 1] != 255;
  return ended && members == count && position <= limit;
}

ZAZEN_INLINE bool add_gaps_loop(const std::uint8_t* gaps, std::size_t size, std::size_t count,
                                std::size_t limit, ChunkWords& words) {
  return walk_gaps(gaps, size, count, limit, [&](std::size_t position, bool is_member) {
    words[position / 64] |= std::uint64_t{is_member} << (position % 64);
  });
}
ZAZEN_LOOP(bool, add_gaps,
           (const std::uint8_t* gaps, std::size_t size, std::size_t count, std::size_t limit,
            ChunkWords& words),
           gaps, size, count, limit, words)

// The operations of the instructions PEXT, PDEP and TZCNT.
struct AnyBits {
  // Without a test for zero: then the result is 63.
  static std::size_t lowest(std::uint64_t bits) {
    return static_cast<std::size_t>(std::countr_zero(bits | std::uint64_t{1} << 63));
  }
  static std::uint64_t gather(std::uint64_t word, std::uint64_t mask) {
    std::uint64_t gathered = 0;
    for (std::uint64_t bit = 1; mask != 0; mask &= mask - 1, bit <<= 1)
      if ((word & mask & -mask) != 0) gathered |= bit;
    return gathered;
  }
  static std::uint64_t scatter(std::uint64_t packed, std::uint64_t mask) {
    std::uint64_t scattered = 0;
    for (; mask != 0; mask &= mask - 1, packed >>= 1)
      if ((packed & 1) != 0) scattered |= mask & -mask;
    return scattered;
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

template <class Bits>
ZAZEN_INLINE std::size_t gather_loop(const ChunkWords& words, const ChunkWords& mask,
                                     ChunkWords& out) {
  std::uint64_t pending = 0;
  std::size_t size = 0, filled = 0;  // bits of `pending`
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::uint64_t bits = Bits::gather(words[w], mask[w]);
    const auto count = static_cast<std::size_t>(std::popcount(mask[w]));
    pending |= bits << filled;
    filled += count;
    if (filled < 64) continue;
    out[size++] = pending;
    filled -= 64;
    pending = filled == 0 ? 0 : bits >> (count - filled);
  }
  if (filled != 0) out[size++] = pending;
  return size;
}

// A word's bits come from one load at the byte where they begin, which has at least 57 of them.
template <class Bits>
ZAZEN_INLINE bool scatter_loop(std::span<const std::byte> packed, const ChunkWords& mask,
                               ChunkWords& words) {
  std::byte bytes[sizeof(ChunkWords) + 16];
  if (packed.size() > sizeof(ChunkWords) || packed.size() % sizeof(std::uint64_t) != 0)
    return false;
  std::memset(std::ranges::copy(packed, bytes).out, 0, 16);
  std::size_t at = 0;  // the next bit of `packed`
  const std::size_t end = 8 * packed.size();
  for (std::size_t w = 0; w < words.size(); ++w) {
    const auto count = static_cast<std::size_t>(std::popcount(mask[w]));
    std::uint64_t bits = load(bytes + at / 8) >> (at % 8);
    if (count > 57) [[unlikely]]
      bits |= load(bytes + at / 8 + 1) << (8 - at % 8);
    words[w] = Bits::scatter(bits, mask[w]);
    at += count;
    if (at > end) return false;
  }
  return end - at < 64 && (end == at || load(bytes + end / 8 - 8) >> (at % 64) == 0);
}

#if ZAZEN_TWO_VERSIONS
struct Bmi2Bits {
  [[gnu::target("bmi")]] static std::size_t lowest(std::uint64_t bits) {
    return _tzcnt_u64(bits);
  }
  [[gnu::target("bmi2")]] static std::uint64_t gather(std::uint64_t word, std::uint64_t mask) {
    return _pext_u64(word, mask);
  }
  [[gnu::target("bmi2")]] static std::uint64_t scatter(std::uint64_t packed,
                                                       std::uint64_t mask) {
    return _pdep_u64(packed, mask);
  }
};

[[gnu::target("avx2,bmi,bmi2,popcnt")]] void list_by_bmi(const ChunkWords& words,
                                                         std::size_t count,
                                                         std::uint16_t* out) {
  list_loop<Bmi2Bits>(words, count, out);
}
[[gnu::target("avx2,bmi,bmi2,popcnt")]] std::size_t gather_by_bmi2(const ChunkWords& words,
                                                                   const ChunkWords& mask,
                                                                   ChunkWords& out) {
  return gather_loop<Bmi2Bits>(words, mask, out);
}
[[gnu::target("avx2,bmi,bmi2,popcnt")]] bool scatter_by_bmi2(std::span<const std::byte> packed,
                                                             const ChunkWords& mask,
                                                             ChunkWords& words) {
  return scatter_loop<Bmi2Bits>(packed, mask, words);
}
#endif

}  // namespace

std::size_t gather_bits(const ChunkWords& words, const ChunkWords& mask, ChunkWords* out) {
#if ZAZEN_TWO_VERSIONS
  if (has_avx2()) return gather_by_bmi2(words, mask, *out);
#endif
  return gather_loop<AnyBits>(words, mask, *out);
}

bool scatter_bits(std::span<const std::byte> packed, const ChunkWords& mask,
                  ChunkWords* words) {
#if ZAZEN_TWO_VERSIONS
  if (has_avx2()) return scatter_by_bmi2(packed, mask, *words);
#endif
  return scatter_loop<AnyBits>(packed, mask, *words);
}

std::size_t count_members(const ChunkWords& words) {
  return count_here(words);
}

bool any_bit(const ChunkWords& words) {
  std::uint64_t all = 0;
  for (std::uint64_t word : words) all |= word;
  return all != 0;
}

Extent extent_of(const ChunkWords& words) {
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

Revised revise(std::span<std::byte, sizeof(ChunkWords)> words, const ChunkWords& more,
               const ChunkWords& lost, const ChunkWords& adopted) {
  return revise_here(words.data(), more, lost, adopted);
}

bool merge(std::span<const std::uint16_t> positions, std::span<const std::byte> lost,
           std::span<std::byte, sizeof(ChunkWords)> words) {
  return merge_here(positions.data(), positions.size(), lost.empty() ? nullptr : lost.data(),
                    words.data());
}

bool read_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit,
               ChunkWords* words) {
  words->fill(0);
  return add_gaps(gaps, count, limit, words);
}

bool add_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit,
              ChunkWords* words) {
  return add_gaps_here(reinterpret_cast<const std::uint8_t*>(gaps.data()), gaps.size(), count,
                       limit, *words);
}

void list_members(const ChunkWords& words, std::size_t count, std::uint16_t* out) {
#if ZAZEN_TWO_VERSIONS
  if (has_avx2()) return list_by_bmi(words, count, out);
#endif
  list_loop<AnyBits>(words, count, out);
}

}  // namespace zazen
