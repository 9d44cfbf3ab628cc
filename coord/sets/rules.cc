// Works on one word of bits, 64 frames, at a time, together with two words of claims.
#include "coord/sets/rules.h"

#include <algorithm>

namespace zazen {
namespace {

struct ClaimBits {
  std::uint64_t low;
  std::uint64_t high;
};

ClaimBits claim_bits(const ClaimBitmap& claims, std::size_t word) {
  std::span<const std::uint64_t> words = claims.words();
  const std::uint64_t first = words[2 * word];
  const std::uint64_t second = 2 * word + 1 < words.size() ? words[2 * word + 1] : 0;
  return {low_bits(first) | std::uint64_t{low_bits(second)} << 32,
          high_bits(first) | std::uint64_t{high_bits(second)} << 32};
}

}  // namespace

void drop_aliens_of_natives(const Bitmap& global_natives, Bitmap* local_aliens) {
  std::span<std::uint64_t> aliens = local_aliens->words();
  for (std::size_t w = 0; w < aliens.size(); ++w) aliens[w] &= ~global_natives.words()[w];
}

void add_sole_aliens(const Bitmap& local_aliens, const ClaimBitmap& global_aliens,
                     Bitmap* own) {
  std::span<std::uint64_t> words = own->words();
  for (std::size_t w = 0; w < words.size(); ++w)
    words[w] |= local_aliens.words()[w] & claim_bits(global_aliens, w).low;
}

void find_residues(const Bitmap& global_natives, const ClaimBitmap& global_aliens,
                   Bitmap* residues) {
  std::span<std::uint64_t> words = residues->words();
  for (std::size_t w = 0; w < words.size(); ++w)
    words[w] = ~(global_natives.words()[w] | claim_bits(global_aliens, w).low);
  if (std::size_t tail = residues->size() % 64; tail != 0)
    words.back() &= (std::uint64_t{1} << tail) - 1;
}

Block block_of(std::size_t count, std::size_t part, std::size_t parts) {
  const std::size_t size = count / parts, longer = count % parts;
  const std::size_t begin = part * size + std::min(part, longer);
  return {begin, begin + size + (part < longer ? 1 : 0)};
}

}  // namespace zazen
