// The loops over the bits of a chunk against plain loops, one frame at a time. Compiled twice:
// with the loops for this processor, and with those for any.
#include "coord/sets/chunk_bits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace zazen {
namespace {

bool has(const ChunkWords& words, std::size_t i) {
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

ChunkWords random_words(double density, unsigned seed) {
  std::mt19937 random(seed);
  std::bernoulli_distribution holds(density);
  ChunkWords words{};
  for (std::size_t i = 0; i < kChunkFrames; ++i)
    if (holds(random)) words[i / 64] |= std::uint64_t{1} << (i % 64);
  return words;
}

std::vector<std::byte> gaps_of(const ChunkWords& words) {
  std::vector<std::byte> gaps;
  std::size_t next = 0;
  for (std::size_t i = 0; i < kChunkFrames; ++i) {
    if (!has(words, i)) continue;
    for (; i - next >= 255; next += 255) gaps.push_back(std::byte{255});
    gaps.push_back(static_cast<std::byte>(i - next));
    next = i + 1;
  }
  return gaps;
}

const double kDensities[] = {0.0, 0.0001, 0.002, 0.0125, 0.05, 0.3, 0.99, 1.0};

TEST(ChunkBits, MembersAreListedInTheirOrder) {
  for (double density : kDensities) {
    const ChunkWords words = random_words(density, 7);
    std::vector<std::uint16_t> expected;
    for (std::size_t i = 0; i < kChunkFrames; ++i)
      if (has(words, i)) expected.push_back(static_cast<std::uint16_t>(i));
    std::vector<std::uint16_t> listed(expected.size() + kListRoom);
    list_members(words, expected.size(), listed.data());
    listed.resize(expected.size());
    EXPECT_EQ(listed, expected) << density;
  }
}

TEST(ChunkBits, GapsAreReadAsOneFrameAfterTheOtherWould) {
  for (double density : kDensities) {
    const ChunkWords words = random_words(density, 7);
    const std::vector<std::byte> gaps = gaps_of(words);
    const std::size_t count = count_members(words);
    ChunkWords read;
    ASSERT_TRUE(read_gaps(gaps, count, kChunkFrames, &read));
    EXPECT_EQ(read, words) << density;
    const ChunkWords before = random_words(0.3, 11);
    ChunkWords added = before, united = before;
    ASSERT_TRUE(add_gaps(gaps, count, kChunkFrames, &added));
    EXPECT_EQ(unite(std::as_bytes(std::span(words)), &united), count);
    EXPECT_EQ(added, united) << density;
    for (std::size_t w = 0; w < united.size(); ++w) ASSERT_EQ(united[w], before[w] | words[w]);
    if (gaps.empty()) continue;
    EXPECT_FALSE(read_gaps(gaps, count + 1, kChunkFrames, &read));
    std::size_t last = kChunkFrames - 1;
    while (!has(words, last)) --last;
    EXPECT_TRUE(read_gaps(gaps, count, last + 1, &read));
    EXPECT_FALSE(read_gaps(gaps, count, last, &read));
  }
}

TEST(ChunkBits, GapsThatLeadFarBeyondTheChunkAreRefused) {
  std::vector<std::byte> gaps(65'535, std::byte{254});
  ChunkWords words;
  EXPECT_FALSE(read_gaps(gaps, gaps.size(), kChunkFrames, &words));
  EXPECT_FALSE(read_gaps(std::vector{std::byte{3}, std::byte{255}}, 1, kChunkFrames, &words));
}

TEST(ChunkBits, CountsAreThoseOfPlainLoops) {
  for (double density : kDensities) {
    const ChunkWords a = random_words(density, 1), b = random_words(density, 2);
    std::size_t members = 0, runs = 0, common = 0;
    for (std::size_t i = 0; i < kChunkFrames; ++i) {
      members += has(a, i);
      runs += has(a, i) && (i == 0 || !has(a, i - 1));
      common += has(a, i) && has(b, i);
    }
    EXPECT_EQ(count_members(a), members);
    EXPECT_EQ(extent_of(a).members, members);
    EXPECT_EQ(extent_of(a).runs, runs);
    EXPECT_EQ(any_bit(a), members != 0);
    ChunkWords both, once{}, twice{};
    EXPECT_EQ(intersect(a, b, &both), common);
    count_in(a, &once, &twice);
    EXPECT_EQ(once, a);
    EXPECT_FALSE(any_bit(twice));
    count_in(b, &once, &twice);
    EXPECT_EQ(twice, both);
    for (std::size_t w = 0; w < once.size(); ++w) ASSERT_EQ(once[w], a[w] | b[w]);
  }
}

TEST(ChunkBits, ScatteredBitsAreThoseThatWereGathered) {
  for (double density : kDensities) {
    const ChunkWords whole = random_words(density, 3);
    ChunkWords part, packed, back;
    intersect(whole, random_words(0.6, 4), &part);
    const std::size_t words = gather_bits(part, whole, &packed);
    ASSERT_EQ(words, (count_members(whole) + 63) / 64);
    std::size_t number = 0;
    for_each_bit(whole, [&](std::size_t i) {
      ASSERT_EQ(has(packed, number++), has(part, i)) << density;
    });
    const auto bytes = std::as_bytes(std::span(packed)).first(words * 8);
    ASSERT_TRUE(scatter_bits(bytes, whole, &back));
    EXPECT_EQ(back, part) << density;

    if (words == 0) continue;
    EXPECT_FALSE(scatter_bits(bytes.first(bytes.size() - 8), whole, &back));
    std::vector<std::byte> longer(bytes.begin(), bytes.end());
    longer.resize(longer.size() + 8);
    EXPECT_FALSE(scatter_bits(longer, whole, &back));
    if (number % 64 == 0) continue;
    packed[words - 1] |= std::uint64_t{1} << 63;
    EXPECT_FALSE(scatter_bits(bytes, whole, &back)) << "a bit beyond the members";
  }
}

TEST(ChunkBits, BitsThatFillNoWordAreRefused) {
  ChunkWords whole{}, back;
  whole[3] = 1;
  const std::uint64_t packed = 1;
  const auto bytes = std::as_bytes(std::span(&packed, 1));
  EXPECT_TRUE(scatter_bits(bytes, whole, &back));
  for (std::size_t size = 1; size < 8; ++size)
    EXPECT_FALSE(scatter_bits(bytes.first(size), whole, &back)) << size;
}

TEST(ChunkBits, PositionsAreMergedButForThoseThatAreLost) {
  for (double density : {0.001, 0.02, 0.06})
    for (bool disjoint : {true, false})
      for (double losing : {0.0, 0.7}) {
        ChunkWords had = random_words(0.3, 12);
        const ChunkWords more = random_words(density, 13);
        if (disjoint)
          for (std::size_t w = 0; w < had.size(); ++w) had[w] &= ~more[w];
        std::vector<std::uint16_t> positions(count_members(more) + kListRoom);
        list_members(more, positions.size() - kListRoom, positions.data());
        positions.resize(positions.size() - kListRoom);
        ChunkWords lost, packed, merged = had;
        intersect(more, random_words(losing, 14), &lost);
        const std::size_t words = gather_bits(lost, more, &packed);
        auto bits = std::as_bytes(std::span(packed)).first(words * 8);
        if (losing == 0) bits = {};
        EXPECT_EQ(merge(positions, bits, std::as_writable_bytes(std::span(merged))), disjoint);
        for (std::size_t w = 0; w < had.size(); ++w)
          ASSERT_EQ(merged[w], (had[w] | more[w]) & ~lost[w]) << density << ' ' << losing;
      }
}

TEST(ChunkBits, ARevisionLosesWhatIsThereAndAdoptsWhatIsNot) {
  const ChunkWords had = random_words(0.1, 5), more = random_words(0.02, 6);
  ChunkWords lost, adopted = random_words(0.05, 8), expected;
  intersect(more, random_words(0.5, 9), &lost);
  for (std::size_t w = 0; w < had.size(); ++w) {
    adopted[w] &= ~(had[w] | more[w]);
    expected[w] = ((had[w] | more[w]) & ~lost[w]) | adopted[w];
  }
  auto run = [&](const ChunkWords& from, ChunkWords* words) {
    *words = from;
    return revise(std::as_writable_bytes(std::span(*words)), more, lost, adopted);
  };
  ChunkWords words, apart;
  Revised revised = run(had, &words);
  EXPECT_TRUE(revised.sensible);
  EXPECT_FALSE(revised.disjoint);
  EXPECT_EQ(words, expected);
  for (std::size_t w = 0; w < had.size(); ++w) apart[w] = had[w] & ~more[w];
  EXPECT_TRUE(run(apart, &words).disjoint);

  ChunkWords none{};
  adopted[1000] |= had[1000] & -had[1000];
  EXPECT_FALSE(run(had, &words).sensible) << "it adopts what it has";
  adopted = none;
  lost = none;
  lost[1023] = ~(had[1023] | more[1023]);
  EXPECT_FALSE(run(had, &words).sensible) << "it loses what it has not";
}

}  // namespace
}  // namespace zazen
