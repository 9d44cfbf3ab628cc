// Lists of positions against the words of the same chunk (chunk_bits.h).
#include "coord/sets/chunk_positions.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace zazen {
namespace {

using Positions = std::vector<std::uint16_t>;

Positions random_positions(double density, unsigned seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution holds(density);
  Positions positions;
  for (std::size_t i = 0; i < kChunkFrames; ++i)
    if (holds(random)) positions.push_back(static_cast<std::uint16_t>(i));
  return positions;
}

ChunkWords words_of(std::span<const std::uint16_t> positions) {
  ChunkWords words{};
  for (std::size_t i : positions) words[i / 64] |= std::uint64_t{1} << (i % 64);
  return words;
}

// One byte after the other.
std::vector<std::byte> gaps_of(const Positions& positions) {
  std::vector<std::byte> gaps;
  std::size_t next = 0;
  for (std::size_t i : positions) {
    for (; i - next >= 255; next += 255) gaps.push_back(std::byte{255});
    gaps.push_back(static_cast<std::byte>(i - next));
    next = i + 1;
  }
  return gaps;
}

const double kDensities[] = {0.0, 0.0001, 0.002, 0.0125, 0.03, 0.05};

TEST(ChunkPositions, GapsAreWrittenAndReadAsOneFrameAfterTheOtherWould) {
  for (double density : kDensities) {
    const Positions positions = random_positions(density, 1);
    const ChunkWords words = words_of(positions);
    const std::vector<std::byte> expected = gaps_of(positions);
    std::vector<std::byte> gaps(kChunkFrames);
    gaps.resize(write_gaps(positions, kChunkFrames, gaps.data()));
    EXPECT_EQ(gaps, expected) << density;
    EXPECT_EQ(extent_of(positions).members, extent_of(words).members);
    EXPECT_EQ(extent_of(positions).runs, extent_of(words).runs);

    ChunkPositions read;
    ASSERT_TRUE(read.read_gaps(gaps, positions.size(), kChunkFrames));
    EXPECT_TRUE(std::ranges::equal(read.all(), positions)) << density;
    if (gaps.empty()) continue;
    std::vector<std::byte> room(gaps.size());
    EXPECT_EQ(write_gaps(positions, gaps.size(), room.data()), gaps.size());
    EXPECT_EQ(write_gaps(positions, gaps.size() - 1, room.data()), 0U);
  }
}

TEST(ChunkPositions, OneLongGapAmongShortOnes) {
  for (std::size_t gap : {253U, 254U, 255U, 256U, 510U}) {
    Positions positions;
    for (std::size_t i = 0; i < 40; ++i)
      positions.push_back(static_cast<std::uint16_t>(3 * i + (i < 20 ? 0 : gap - 2)));
    std::vector<std::byte> gaps(kChunkFrames);
    gaps.resize(write_gaps(positions, kChunkFrames, gaps.data()));
    EXPECT_EQ(gaps, gaps_of(positions)) << gap;
    ChunkPositions read;
    ASSERT_TRUE(read.read_gaps(gaps, positions.size(), kChunkFrames));
    EXPECT_TRUE(std::ranges::equal(read.all(), positions)) << gap;
  }
}

TEST(ChunkPositions, GapsAreRefusedWhereTheWordsRefuseThem) {
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = random() % 40, limit = 1 + random() % 3000;
    std::vector<std::byte> gaps(size);
    for (std::byte& gap : gaps)
      gap = static_cast<std::byte>(random() % 8 == 0 ? 255 : random() % 200);
    std::size_t count = 0;
    for (std::byte gap : gaps) count += gap != std::byte{255};
    if (random() % 8 == 0) ++count;
    ChunkPositions positions;
    ChunkWords words;
    const bool sound = read_gaps(gaps, count, limit, &words);
    ASSERT_EQ(positions.read_gaps(gaps, count, limit), sound);
    if (sound) {
      ASSERT_EQ(words_of(positions.all()), words);
    }
    refused += !sound;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 19'000);
  ChunkPositions positions;
  EXPECT_FALSE(
      positions.read_gaps(std::vector(kFewMembers, std::byte{254}), kFewMembers, kChunkFrames));
}

TEST(ChunkPositions, BitsSelectAsTheyAreScattered) {
  for (double density : kDensities) {
    const Positions whole = random_positions(density, 3);
    const ChunkWords mask = words_of(whole);
    std::mt19937_64 random(4);
    std::vector<std::uint64_t> bits((whole.size() + 63) / 64);
    for (std::uint64_t& word : bits) word = random();
    auto agree = [&](std::span<const std::byte> bytes) {
      ChunkPositions part;
      ChunkWords words;
      const bool sound = scatter_bits(bytes, mask, &words);
      EXPECT_EQ(part.select(whole, bytes), sound) << density;
      if (sound) {
        EXPECT_EQ(words_of(part.all()), words) << density;
      }
      return sound;
    };
    const auto bytes = std::as_bytes(std::span(bits));
    if (whole.size() % 64 != 0) {
      EXPECT_FALSE(agree(bytes)) << "bits beyond the positions";
      bits.back() &= (std::uint64_t{1} << (whole.size() % 64)) - 1;
    }
    EXPECT_TRUE(agree(bytes));
    if (bits.empty()) continue;
    EXPECT_FALSE(agree(bytes.first(bytes.size() - 8)));
    EXPECT_FALSE(agree(bytes.first(bytes.size() - 1)));
    bits.push_back(0);
    EXPECT_FALSE(agree(std::as_bytes(std::span(bits))));
  }
}

TEST(ChunkPositions, ARevisionIsThatOfTheWords) {
  std::mt19937 random(5);
  int sensible = 0;
  for (int i = 0; i < 400; ++i) {
    const Positions had = random_positions(0.01, random()),
                    some = random_positions(0.004, random());
    Positions more, lost, adopted;
    const bool wrong = i % 4 == 0;
    std::size_t h = 0;
    for (std::uint16_t position : some) {
      while (h < had.size() && had[h] < position) ++h;
      const bool has = h < had.size() && had[h] == position;
      const unsigned lot = random() % 4;
      if (lot < 2) more.push_back(position);
      if (lot == 0 || (has && lot == 2)) lost.push_back(position);
      if (lot == 3 && !has) adopted.push_back(position);
      if (wrong && random() % 100 == 0) (random() % 2 ? lost : adopted).push_back(position);
    }
    for (Positions* one : {&lost, &adopted})
      one->erase(std::unique(one->begin(), one->end()), one->end());
    ChunkPositions revised;
    ChunkWords words = words_of(had);
    const bool expected = revise(std::as_writable_bytes(std::span(words)), words_of(more),
                                 words_of(lost), words_of(adopted))
                              .sensible;
    ASSERT_EQ(revised.revise(had, more, lost, adopted), expected);
    if (!expected) continue;
    ASSERT_EQ(words_of(revised.all()), words);
    ASSERT_EQ(revised.size(), count_members(words));
    ++sensible;
  }
  EXPECT_GE(sensible, 300);
  EXPECT_LT(sensible, 390);
}

}  // namespace
}  // namespace zazen
