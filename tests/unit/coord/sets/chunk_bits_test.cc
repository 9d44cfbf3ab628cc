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
    ChunkWords united = a;
    EXPECT_EQ(unite(std::as_bytes(std::span(b)), &united), count_members(b));
    EXPECT_EQ(united, once);
  }
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
        ChunkWords lost, merged = had;
        intersect(more, random_words(losing, 14), &lost);
        std::vector<std::uint64_t> packed((positions.size() + 63) / 64);
        for (std::size_t i = 0; i < positions.size(); ++i)
          if (has(lost, positions[i])) packed[i / 64] |= std::uint64_t{1} << (i % 64);
        auto bits = std::as_bytes(std::span(packed));
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
  ChunkWords words;
  EXPECT_TRUE(run(had, &words));
  EXPECT_EQ(words, expected);

  ChunkWords none{};
  adopted[1000] |= had[1000] & -had[1000];
  EXPECT_FALSE(run(had, &words)) << "it adopts what it has";
  adopted = none;
  lost = none;
  lost[1023] = ~(had[1023] | more[1023]);
  EXPECT_FALSE(run(had, &words)) << "it loses what it has not";
}

}  // namespace
}  // namespace zazen
