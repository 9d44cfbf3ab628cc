#include "coord/sets/bitmap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace zazen {
namespace {

// The operator as the paper writes it, on one entry; 11 counts as 10.
unsigned combine_entry(unsigned a, unsigned b) {
  auto claims = [](unsigned entry) { return entry >= 2 ? 2U : entry; };
  return std::min(claims(a) + claims(b), 2U);
}

unsigned combine_word_entry(unsigned a, unsigned b) {
  std::uint64_t into[] = {a};
  const std::uint64_t other[] = {b};
  combine_claims(into, other);
  return static_cast<unsigned>(into[0]);
}

TEST(Operator, HasThePapersTable) {
  EXPECT_EQ(combine_word_entry(0b00, 0b00), 0b00U);
  EXPECT_EQ(combine_word_entry(0b00, 0b01), 0b01U);
  EXPECT_EQ(combine_word_entry(0b00, 0b10), 0b10U);
  EXPECT_EQ(combine_word_entry(0b10, 0b01), 0b10U);
  EXPECT_EQ(combine_word_entry(0b10, 0b10), 0b10U);
  EXPECT_EQ(combine_word_entry(0b01, 0b01), 0b10U);
}

TEST(Operator, IsCommutativeAndAssociativeOnAllEntries) {
  for (unsigned a = 0; a < 4; ++a)
    for (unsigned b = 0; b < 4; ++b) {
      EXPECT_EQ(combine_word_entry(a, b), combine_entry(a, b)) << a << ' ' << b;
      EXPECT_EQ(combine_word_entry(a, b), combine_word_entry(b, a));
      for (unsigned c = 0; c < 4; ++c)
        EXPECT_EQ(combine_word_entry(combine_word_entry(a, b), c),
                  combine_word_entry(a, combine_word_entry(b, c)));
    }
}

TEST(Operator, OnWordsEqualsEntryByEntry) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::uint64_t> a = {random(), random(), random()};
    const std::vector<std::uint64_t> b = {random(), random() & random(), 0};
    const std::vector<std::uint64_t> before = a;
    combine_claims(a, b);
    for (std::size_t i = 0; i < 96; ++i) {
      auto entry = [i](const std::vector<std::uint64_t>& words) {
        return static_cast<unsigned>(words[i / 32] >> (2 * (i % 32)) & 3);
      };
      ASSERT_EQ(entry(a), combine_entry(entry(before), entry(b)));
    }
  }
}

TEST(Bitmap, CountsVisitsAndKnowsWhenItIsFull) {
  for (std::size_t size : {0U, 1U, 63U, 64U, 65U, 130U}) {
    Bitmap bitmap(size);
    EXPECT_EQ(bitmap.full(), size == 0);
    std::vector<std::size_t> visited;
    for (std::size_t i = 0; i < size; ++i) bitmap.set(i);
    EXPECT_TRUE(bitmap.full());
    bitmap.for_each([&](std::size_t i) { visited.push_back(i); });
    EXPECT_EQ(visited.size(), size);
    EXPECT_TRUE(std::ranges::is_sorted(visited));
    if (size == 0) continue;
    bitmap.clear(size - 1);
    EXPECT_FALSE(bitmap.test(size - 1));
    EXPECT_EQ(bitmap.count(), size - 1);
  }
}

TEST(ClaimBitmap, ClaimsWhatTheBitmapHasAndTheBitsComeBack) {
  std::mt19937_64 random(2);
  for (std::size_t size : {1U, 31U, 32U, 33U, 64U, 65U, 96U, 200U}) {
    Bitmap frames(size);
    for (std::size_t i = 0; i < size; ++i)
      if (random() % 2) frames.set(i);
    ClaimBitmap claims(size);
    claims.claim(frames);
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(claims.entry(i), frames.test(i) ? 1U : 0U);
      EXPECT_EQ(low_bits(claims.words()[i / 32]) >> (i % 32) & 1, frames.test(i) ? 1U : 0U);
      EXPECT_EQ(high_bits(claims.words()[i / 32] << 1) >> (i % 32) & 1,
                frames.test(i) ? 1U : 0U);
    }
  }
}

}  // namespace
}  // namespace zazen
