// The order of eviction, without any disk. The random numbers have a fixed seed.
#include "daemon/capacity/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace zazen {
namespace {

using Datasets = std::vector<std::uint32_t>;
constexpr Room kOne{10, 1};

TEST(EvictionTest, LoopOverTwiceTheCapacityHitsNearlyHalf) {
  constexpr std::uint64_t kFrames = 2'000, kCapacity = 1'000;
  Eviction eviction(1, 1);
  std::vector<std::uint64_t> held;
  std::set<std::uint64_t> is_held;
  std::uint64_t hits = 0, opens = 0;
  for (int pass = 0; pass < 6; ++pass) {
    for (std::uint64_t frame = 0; frame < kFrames; ++frame) {
      if (pass > 0) ++opens;
      if (is_held.contains(frame)) {
        if (pass > 0) ++hits;
        continue;
      }
      if (held.size() == kCapacity) {
        Room evictable{10 * kCapacity, kCapacity};
        if (eviction.who_gives_way(0, FrameKind::kAlien, kOne, std::span(&evictable, 1))
                .empty()) {
          continue;
        }
        std::uint64_t& victim = held[eviction.random()() % held.size()];
        is_held.erase(victim);
        std::swap(victim, held.back());
        held.pop_back();
      }
      held.push_back(frame);
      is_held.insert(frame);
    }
  }
  EXPECT_GT(hits * 100, opens * 47) << hits << " of " << opens;
}

TEST(EvictionTest, NativeIsGivenWayByTheLongestUnusedFirst) {
  Eviction eviction(3, 1);
  const Room evictable[] = {kOne, kOne, kOne};
  for (std::uint32_t opened : {1u, 2u, 0u}) eviction.note_fills(1, std::span(&opened, 1));
  EXPECT_EQ(eviction.who_gives_way(0, FrameKind::kNative, kOne, evictable),
            (Datasets{1, 2, 0}));
  eviction.note_use(1);
  EXPECT_EQ(eviction.who_gives_way(0, FrameKind::kNative, {25, 1}, evictable).front(), 2u);
  EXPECT_TRUE(eviction.who_gives_way(0, FrameKind::kNative, {31, 1}, evictable).empty());
}

TEST(EvictionTest, OnlyIdleDatasetsGiveWayToAliensAtOnce) {
  Eviction eviction(3, 1);
  const Room evictable[] = {kOne, kOne, kOne};
  const Datasets all = {0, 1, 2}, first = {0};
  eviction.note_fills(3, all);
  eviction.note_fills(Eviction::kIdleFills - 1, first);
  EXPECT_FALSE(eviction.is_idle(1)) << "one open is missing";
  eviction.note_fills(1, first);
  EXPECT_TRUE(eviction.is_idle(1));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(eviction.who_gives_way(0, FrameKind::kAlien, kOne, evictable), (Datasets{1, 2}));
    EXPECT_EQ(eviction.who_gives_way(1, FrameKind::kAlien, kOne, evictable), (Datasets{2}))
        << "who asks is not idle";
  }
}

TEST(EvictionTest, OneMissOfSixteenIsLetInAndEachAlienIsAsLikelyToGo) {
  Eviction eviction(2, 1);
  const Room evictable[] = {{100, 10}, {900, 90}};
  int let_in = 0, from_second = 0;
  constexpr int kMisses = 32'000;
  for (int i = 0; i < kMisses; ++i) {
    Datasets from = eviction.who_gives_way(0, FrameKind::kAlien, kOne, evictable);
    if (from.empty()) continue;
    ++let_in;
    from_second += from.front() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(let_in, kMisses / 16, 200);
  EXPECT_NEAR(from_second, let_in * 9 / 10, 100);
}

TEST(EvictionTest, RestOfAnAdmittedFrameIsLetIn) {
  Eviction eviction(2, 1);
  const Room evictable[] = {kOne, kOne};
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(
        eviction.who_gives_way(0, FrameKind::kAlien, kOne, evictable, Wanted::kAdmitted)
            .empty());
  }
}

TEST(EvictionTest, FrameThatNobodyHasOpenedDisplacesOnlyWhatIsIdle) {
  Eviction eviction(3, 1);
  const Room evictable[] = {kOne, kOne, kOne};
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_TRUE(
        eviction.who_gives_way(0, FrameKind::kAlien, kOne, evictable, Wanted::kLater).empty());
  }
  const Datasets first = {0};
  eviction.note_fills(Eviction::kIdleFills, first);
  eviction.note_use(2);  // a dataset that was warmed is in use
  EXPECT_EQ(eviction.who_gives_way(0, FrameKind::kAlien, kOne, evictable, Wanted::kLater),
            (Datasets{1}));
}

}  // namespace
}  // namespace zazen
