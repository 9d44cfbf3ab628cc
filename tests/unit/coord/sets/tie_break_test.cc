// Contested frames against the rule, one frame and one claimant at a time. The claimants are up
// to eight and more, with equal and unequal steps, and with loads that are far apart. Compiled
// twice, as chunk_bits_test.
#include "coord/sets/tie_break.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace zazen {
namespace {

struct Case {
  std::size_t claimants;
  bool equal_steps;
  std::uint64_t wins_apart;  // those of the first and the last
  double contested;          // of the frames
};

void compare(const Case& one, unsigned seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_contested(one.contested);
  std::vector<ChunkWords> rows(one.claimants, ChunkWords{});
  ChunkWords contested{};
  for (std::size_t i = 0; i < kChunkFrames; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    const bool wanted = is_contested(random);
    if (wanted) contested[i / 64] |= bit;
    rows[random() % rows.size()][i / 64] |= bit;  // an uncontested claim stays in the row
    for (std::size_t copies = random() % 4; wanted && copies > 0; --copies)
      rows[random() % rows.size()][i / 64] |= bit;
  }
  std::vector<ChunkWords> expected = rows;
  std::vector<Claimant> claimants;
  for (ChunkWords& row : rows)
    claimants.push_back({row.data(), 1'000'000 + random() % (one.wins_apart + 1),
                         kClaimantsAtMost * (one.equal_steps ? 4 : 1 + random() % 4)});
  claimants.back().wins = 1'000'000;
  claimants.front().wins = 1'000'000 + one.wins_apart;
  std::vector<Claimant> by_rule = claimants;
  for_each_bit(contested, [&](std::size_t i) {
    std::size_t winner = by_rule.size();
    auto load = [&](std::size_t n) { return (by_rule[n].wins + 1) * by_rule[n].step; };
    for (std::size_t n = 0; n < by_rule.size(); ++n)
      if ((expected[n][i / 64] >> (i % 64) & 1) != 0 &&
          (winner == by_rule.size() || load(n) < load(winner)))
        winner = n;
    expected[winner][i / 64] &= ~(std::uint64_t{1} << (i % 64));
    ++by_rule[winner].wins;
  });

  break_ties(contested, claimants);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    EXPECT_EQ(claimants[n].wins, by_rule[n].wins) << one.claimants << " claimants, " << n;
    EXPECT_EQ(rows[n], expected[n]) << one.claimants << " claimants, " << n;
  }
}

TEST(TieBreak, EachFrameGoesToTheLeastLoadedClaimant) {
  unsigned seed = 0;
  for (std::size_t claimants : {1U, 2U, 7U, 8U, 9U, 40U})
    for (bool equal : {true, false})
      for (std::uint64_t apart : {0U, 3U, 4095U, 4096U, 8150U, 100'000U})
        for (double contested : {0.05, 1.0})
          compare({claimants, equal, apart, contested}, seed++);
}

#ifndef ZAZEN_ANY_PROCESSOR  // it has no masks
// Claims as lists of positions, of which the contested ones are decided as in rows of words.
// In the first round no frame is contested; in the last ones the loads are far apart.
TEST(TieBreak, MasksDecideAsRowsDo) {
  if (!MaskTieBreak::suits(2)) GTEST_SKIP() << "this processor has no AVX2";
  constexpr std::uint64_t kWinsApart[] = {300, 300, 3050, 7150, 100'000};
  MaskTieBreak tie_break;
  std::mt19937_64 random(7);
  for (std::size_t nodes : {1U, 2U, 7U, 8U, 9U, 15U, 16U})
    for (int round = 0; round < 10; ++round) {
      const bool equal_steps = round % 2 == 0;
      const std::uint64_t wins_apart = kWinsApart[round / 2];
      std::vector<std::vector<std::uint16_t>> positions(nodes);
      std::vector<ChunkWords> rows(nodes, ChunkWords{});
      ChunkWords claimed{}, contested{};
      for (std::size_t i = 0; i < kChunkFrames; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        const std::size_t most = round < 2 ? 1 : 4;
        for (std::size_t copies = random() % 20 == 0 ? 1 + random() % most : 0; copies > 0;
             --copies) {
          const std::size_t node = random() % nodes;
          if ((rows[node][i / 64] & bit) != 0) continue;
          positions[node].push_back(static_cast<std::uint16_t>(i));
          rows[node][i / 64] |= bit;
          contested[i / 64] |= claimed[i / 64] & bit;
          claimed[i / 64] |= bit;
        }
      }
      std::vector<Claimant> claimants;
      std::vector<FewClaims> few;
      std::vector<std::vector<std::uint64_t>> lost;
      for (std::size_t n = 0; n < nodes; ++n) {
        const std::uint64_t wins = random() % wins_apart;
        const std::uint64_t step = kClaimantsAtMost * (equal_steps ? 2 : 1 + random() % 3);
        lost.emplace_back(positions[n].size() / 64 + 1);
        few.push_back({positions[n], lost[n].data(), wins, step});
        const std::size_t alone = positions[n].size() - intersect(rows[n], contested, &rows[n]);
        claimants.push_back({rows[n].data(), wins + alone, step});
      }
      break_ties(contested, claimants);

      if (round % 4 == 3) {
        tie_break.enter(std::vector<FewClaims>(few.rbegin(), few.rend()));
        tie_break.withdraw();
      }
      tie_break.enter(few);
      EXPECT_EQ(tie_break.claimed(), claimed);
      tie_break.break_ties(few);
      for (std::size_t n = 0; n < nodes; ++n) {
        ChunkWords row{};
        for (std::size_t i = 0; i < positions[n].size(); ++i)
          if ((lost[n][i / 64] >> (i % 64) & 1) != 0)
            row[positions[n][i] / 64] |= std::uint64_t{1} << (positions[n][i] % 64);
        EXPECT_EQ(row, rows[n]) << nodes << " nodes, " << n;
        EXPECT_EQ(few[n].wins, claimants[n].wins) << nodes << " nodes, " << n;
      }
    }
}
#endif

}  // namespace
}  // namespace zazen
