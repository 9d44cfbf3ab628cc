// Bitmaps over the domain of a dataset: one bit for a frame, or the two bits of step 4 of the
// paper's protocol. A frame's index is its position in the agreed listing.
//
// All set operations work on whole 64-bit words. Bits past the end are always zero, so counting
// needs no mask. A billion frames take 125 MB with one bit, 250 MB with two.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zazen {

// The number of set bits.
std::size_t count_bits(std::span<const std::byte> bytes);

class Bitmap {
 public:
  Bitmap() = default;
  explicit Bitmap(std::size_t size) : size_(size), words_((size + 63) / 64) {}

  std::size_t size() const { return size_; }
  bool test(std::size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void set_all(std::size_t begin, std::size_t end);
  void clear(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  std::size_t count() const;
  bool full() const { return count() == size_; }

  std::span<std::uint64_t> words() { return words_; }
  std::span<const std::uint64_t> words() const { return words_; }
  bool operator==(const Bitmap&) const = default;

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  }

 private:
  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

// Two bits for a frame: 00 no node claims it, 01 one node does, 10 several do.
class ClaimBitmap {
 public:
  static constexpr std::uint64_t kLowBits = 0x5555'5555'5555'5555ULL;

  ClaimBitmap() = default;
  explicit ClaimBitmap(std::size_t size) : size_(size), words_((size + 31) / 32) {}

  std::size_t size() const { return size_; }
  unsigned entry(std::size_t i) const { return words_[i / 32] >> (2 * (i % 32)) & 3; }
  std::span<std::uint64_t> words() { return words_; }
  std::span<const std::uint64_t> words() const { return words_; }

  // Sets every entry to 01 where the bit is set and to 00 elsewhere.
  void claim(const Bitmap& frames);

 private:
  std::size_t size_ = 0;
  std::vector<std::uint64_t> words_;
};

// The operator of step 5, entry by entry: into = into o other. It adds claims and saturates at
// "several", so it is commutative and associative. 11, which is never written, counts as 10.
void combine_claims(std::span<std::uint64_t> into, std::span<const std::uint64_t> other);

// The 32 entries of a word of claims as 32 bits: their low, or their high bits.
std::uint32_t low_bits(std::uint64_t claims);
std::uint32_t high_bits(std::uint64_t claims);

}  // namespace zazen
