// Word-parallel bitmaps. Two words of claims cover the 64 frames of one word of bits. The
// conversion spreads 32 bits to every other bit of 64, or the reverse.
#include "coord/sets/bitmap.h"

#include <cstring>

#include "coord/sets/per_processor.h"

namespace zazen {
namespace {

std::uint64_t spread(std::uint32_t bits) {
  std::uint64_t x = bits;
  x = (x | x << 16) & 0x0000'ffff'0000'ffffULL;
  x = (x | x << 8) & 0x00ff'00ff'00ff'00ffULL;
  x = (x | x << 4) & 0x0f0f'0f0f'0f0f'0f0fULL;
  x = (x | x << 2) & 0x3333'3333'3333'3333ULL;
  return (x | x << 1) & ClaimBitmap::kLowBits;
}

}  // namespace

ZAZEN_PER_PROCESSOR std::size_t count_bits(std::span<const std::byte> bytes) {
  std::size_t total = 0;
  std::uint64_t words[4];
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::memcpy(words, bytes.data(), sizeof words);
    for (std::uint64_t word : words) total += static_cast<std::size_t>(std::popcount(word));
  }
  for (std::byte byte : bytes)
    total += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(byte)));
  return total;
}

std::size_t Bitmap::count() const {
  return count_bits(std::as_bytes(std::span(words_)));
}

void Bitmap::set_all(std::size_t begin, std::size_t end) {
  for (; begin < end && begin % 64 != 0; ++begin) set(begin);
  for (; end - begin >= 64; begin += 64) words_[begin / 64] = ~std::uint64_t{0};
  for (; begin < end; ++begin) set(begin);
}

void ClaimBitmap::claim(const Bitmap& frames) {
  std::span<const std::uint64_t> bits = frames.words();
  for (std::size_t w = 0; w < words_.size(); ++w)
    words_[w] = spread(static_cast<std::uint32_t>(bits[w / 2] >> (w % 2 * 32)));
}

void combine_claims(std::span<std::uint64_t> into, std::span<const std::uint64_t> other) {
  constexpr std::uint64_t low = ClaimBitmap::kLowBits;
  for (std::size_t w = 0; w < into.size(); ++w) {
    const std::uint64_t a = into[w], b = other[w];
    const std::uint64_t high = ((a | b) & ~low) | (a & b & low) << 1;
    into[w] = high | ((a ^ b) & low & ~(high >> 1));
  }
}

std::uint32_t low_bits(std::uint64_t claims) {
  std::uint64_t x = claims & ClaimBitmap::kLowBits;
  x = (x | x >> 1) & 0x3333'3333'3333'3333ULL;
  x = (x | x >> 2) & 0x0f0f'0f0f'0f0f'0f0fULL;
  x = (x | x >> 4) & 0x00ff'00ff'00ff'00ffULL;
  x = (x | x >> 8) & 0x0000'ffff'0000'ffffULL;
  return static_cast<std::uint32_t>(x | x >> 16);
}

std::uint32_t high_bits(std::uint64_t claims) {
  return low_bits(claims >> 1);
}

}  // namespace zazen
