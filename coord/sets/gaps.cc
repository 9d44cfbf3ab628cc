// Gaps are read and written eight at a time if none of them is 255; on x86-64 with the vector
// instructions of every such processor.
#include "coord/sets/gaps.h"

#include <algorithm>

// A test compiles only the loops for any processor.
#if defined(__x86_64__) && !defined(ZAZEN_ANY_PROCESSOR)
#define ZAZEN_VECTORS 1
#include <emmintrin.h>
#else
#define ZAZEN_VECTORS 0
#endif

namespace zazen {
namespace {

constexpr std::size_t kEight = 8;

#if ZAZEN_VECTORS
// The positions of eight members, the first of them not before `next`, which is advanced; false
// if one of the gaps is 255.
bool read_eight(const std::byte* gaps, std::size_t* next, std::uint16_t* out) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(gaps));
  if ((_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1))) & 0xff) != 0) return false;
  __m128i sums =
      _mm_add_epi16(_mm_unpacklo_epi8(bytes, _mm_setzero_si128()), _mm_set1_epi16(1));
  sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 2));
  sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
  sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
  const __m128i before = _mm_set1_epi16(static_cast<short>(*next - 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_add_epi16(sums, before));
  *next += static_cast<std::size_t>(_mm_extract_epi16(sums, kEight - 1));
  return true;
}

// The gaps of eight positions, which follow another position; false if one of them is too long.
bool write_eight(const std::uint16_t* positions, std::byte* out) {
  const __m128i these = _mm_loadu_si128(reinterpret_cast<const __m128i*>(positions));
  const __m128i before = _mm_loadu_si128(reinterpret_cast<const __m128i*>(positions - 1));
  const __m128i gaps = _mm_add_epi16(_mm_sub_epi16(these, before), _mm_set1_epi16(-1));
  const __m128i excess = _mm_subs_epu16(gaps, _mm_set1_epi16(254));
  if (_mm_movemask_epi8(_mm_cmpeq_epi16(excess, _mm_setzero_si128())) != 0xffff) return false;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(gaps, gaps));
  return true;
}
#else
bool read_eight(const std::byte*, std::size_t*, std::uint16_t*) {
  return false;
}
bool write_eight(const std::uint16_t*, std::byte*) {
  return false;
}
#endif

}  // namespace

bool read_gaps(std::span<const std::byte> gaps, std::size_t count, std::size_t limit,
               std::uint16_t* positions) {
  if (gaps.size() > kMostGaps) return false;
  std::size_t position = 0, members = 0;
  for (std::size_t i = 0; i < gaps.size();) {
    const std::size_t end = std::min(i + kEight, gaps.size());
    if (end == i + kEight && read_eight(&gaps[i], &position, &positions[members])) {
      members += kEight;
      i = end;
    }
    for (; i < end; ++i) {
      const auto gap = std::to_integer<std::size_t>(gaps[i]);
      const std::size_t is_member = gap != 255;
      position += gap;
      positions[members] = static_cast<std::uint16_t>(position);
      members += is_member;
      position += is_member;
    }
  }
  const bool ended = gaps.empty() || gaps.back() != std::byte{255};
  return ended && members == count && position <= limit;
}

std::size_t write_gaps(std::span<const std::uint16_t> positions, std::size_t most,
                       std::byte* out) {
  std::size_t size = 0, next = 0;
  for (std::size_t i = 0; i < positions.size();) {
    const std::size_t end = std::min(i + kEight, positions.size());
    if (i != 0 && end == i + kEight && size + kEight <= most &&
        write_eight(&positions[i], out + size)) {
      size += kEight;
      next = positions[end - 1] + std::size_t{1};
      i = end;
    }
    for (; i < end; ++i) {
      std::size_t gap = positions[i] - next;
      if (size + gap / 255 >= most) return 0;
      for (; gap >= 255; gap -= 255) out[size++] = std::byte{255};
      out[size++] = static_cast<std::byte>(gap);
      next = positions[i] + std::size_t{1};
    }
  }
  return size;
}

}  // namespace zazen
