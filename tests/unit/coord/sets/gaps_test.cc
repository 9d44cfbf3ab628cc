// Gaps against plain loops, one byte after the other. Compiled twice, as chunk_bits_test.
#include "coord/sets/gaps.h"

#include <gtest/gtest.h>

#include <optional>
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

// The positions that read_gaps() reads; no value if it refuses.
std::optional<Positions> read(const std::vector<std::byte>& gaps, std::size_t count,
                              std::size_t limit) {
  Positions positions(gaps.size());
  if (!read_gaps(gaps, count, limit, positions.data())) return std::nullopt;
  positions.resize(count);
  return positions;
}

// The same, one byte after the other.
std::optional<Positions> read_plainly(const std::vector<std::byte>& gaps, std::size_t count,
                                      std::size_t limit) {
  Positions positions;
  std::size_t next = 0;
  for (std::byte gap : gaps) {
    next += std::to_integer<std::size_t>(gap);
    if (gap != std::byte{255}) positions.push_back(static_cast<std::uint16_t>(next++));
  }
  if (!gaps.empty() && gaps.back() == std::byte{255}) return std::nullopt;
  if (positions.size() != count || next > limit) return std::nullopt;
  return positions;
}

TEST(Gaps, GapsAreWrittenAndReadAsOneFrameAfterTheOtherWould) {
  for (double density : kDensities) {
    const Positions positions = random_positions(density, 1);
    const std::vector<std::byte> expected = gaps_of(positions);
    std::vector<std::byte> gaps(kChunkFrames);
    gaps.resize(write_gaps(positions, kChunkFrames, gaps.data()));
    EXPECT_EQ(gaps, expected) << density;
    EXPECT_EQ(read(gaps, positions.size(), kChunkFrames), positions) << density;
    if (gaps.empty()) continue;
    const std::size_t last = positions.back();
    EXPECT_EQ(read(gaps, positions.size(), last + 1), positions);
    EXPECT_FALSE(read(gaps, positions.size(), last)) << density;
    EXPECT_FALSE(read(gaps, positions.size() + 1, kChunkFrames)) << density;
    std::vector<std::byte> room(gaps.size());
    EXPECT_EQ(write_gaps(positions, gaps.size(), room.data()), gaps.size());
    EXPECT_EQ(write_gaps(positions, gaps.size() - 1, room.data()), 0U);
  }
}

TEST(Gaps, OneLongGapAmongShortOnes) {
  for (std::size_t gap : {253U, 254U, 255U, 256U, 510U}) {
    Positions positions;
    for (std::size_t i = 0; i < 40; ++i)
      positions.push_back(static_cast<std::uint16_t>(3 * i + (i < 20 ? 0 : gap - 2)));
    std::vector<std::byte> gaps(kChunkFrames);
    gaps.resize(write_gaps(positions, kChunkFrames, gaps.data()));
    EXPECT_EQ(gaps, gaps_of(positions)) << gap;
    EXPECT_EQ(read(gaps, positions.size(), kChunkFrames), positions) << gap;
  }
}

TEST(Gaps, MalformedOnesAreRefused) {
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
    const std::optional<Positions> positions = read(gaps, count, limit);
    const bool sound = positions.has_value();
    ASSERT_EQ(positions, read_plainly(gaps, count, limit));
    refused += !sound;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 19'000);
  const std::vector far(kMostGaps, std::byte{254});
  EXPECT_FALSE(read(far, far.size(), kChunkFrames));
  const std::vector longer(kMostGaps + 1, std::byte{0});
  EXPECT_FALSE(read(longer, longer.size(), kChunkFrames));
}

}  // namespace
}  // namespace zazen
