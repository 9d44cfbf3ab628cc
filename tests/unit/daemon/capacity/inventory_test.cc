#include "daemon/capacity/inventory.h"

#include <gtest/gtest.h>

#include <set>

namespace zazen {
namespace {

TEST(Inventory, CountsWhatItHolds) {
  Inventory inventory(2);
  inventory.add(0, 1, FrameKind::kNative, 10);
  inventory.add(0, 2, FrameKind::kAlien, 20);
  inventory.add(1, 1, FrameKind::kAlien, 5);
  EXPECT_EQ(inventory.total_bytes(), 35u);
  EXPECT_EQ(inventory.total_files(), 3u);
  EXPECT_EQ(inventory.alien_bytes(), 25u);
  EXPECT_EQ(inventory.alien_files(), 2u);
  EXPECT_EQ(inventory.bytes(0), 30u);
}

TEST(Inventory, FrameIsHeldOnceUnderItsLastKind) {
  Inventory inventory(1);
  inventory.add(0, 1, FrameKind::kAlien, 10);
  inventory.add(0, 1, FrameKind::kNative, 12);
  EXPECT_EQ(inventory.total_bytes(), 12u);
  EXPECT_EQ(inventory.total_files(), 1u);
  EXPECT_EQ(inventory.alien_bytes(), 0u);
  EXPECT_EQ(inventory.find(0, 1)->kind, FrameKind::kNative);
}

TEST(Inventory, RemovingGivesBackWhatWasCounted) {
  Inventory inventory(1);
  inventory.add(0, 1, FrameKind::kAlien, 10);
  EXPECT_TRUE(inventory.remove(0, 1));
  EXPECT_FALSE(inventory.remove(0, 1));
  EXPECT_EQ(inventory.total_bytes(), 0u);
  EXPECT_EQ(inventory.alien_bytes(), 0u);
  EXPECT_FALSE(inventory.find(0, 1));
}

TEST(Inventory, FramesAreAscending) {
  Inventory inventory(1);
  for (FrameSeq seq : {9, 1, 5}) inventory.add(0, seq, FrameKind::kAlien, seq);
  EXPECT_EQ(inventory.frames(0, FrameKind::kAlien),
            (Inventory::Frames{{1, 1}, {5, 5}, {9, 9}}));
  EXPECT_EQ(inventory.newest(0), 5u);
}

TEST(Inventory, RandomAlienIsAnyAlienAndNoNative) {
  Inventory inventory(2);
  std::mt19937_64 random(1);
  EXPECT_FALSE(inventory.random_alien(0, random));
  for (FrameSeq seq = 0; seq < 100; ++seq) inventory.add(0, seq, FrameKind::kNative, 1);
  for (FrameSeq seq = 1000; seq < 1010; ++seq) inventory.add(0, seq, FrameKind::kAlien, 1);
  std::set<FrameSeq> chosen;
  for (int i = 0; i < 1000; ++i) chosen.insert(*inventory.random_alien(0, random));
  EXPECT_EQ(chosen.size(), 10u);
  EXPECT_EQ(*chosen.begin(), 1000u);
  EXPECT_FALSE(inventory.random_alien(1, random));
}

TEST(Inventory, SizesThatAreNotKnownAreLearned) {
  Inventory inventory(1);
  inventory.table(0, FrameKind::kAlien).set(4, FrameTable::kUnknown);
  EXPECT_EQ(inventory.total_bytes(), 0u);
  EXPECT_EQ(inventory.total_files(), 1u);
  EXPECT_EQ(inventory.unknown_sizes(0), 1u);
  EXPECT_EQ(inventory.find(0, 4)->bytes, 0u);
  EXPECT_FALSE(inventory.knows_size(0, 4));
  inventory.learn(0, 4, 17, 5);
  EXPECT_EQ(inventory.find(0, 4)->owner, 5);
  EXPECT_TRUE(inventory.knows_size(0, 4));
  EXPECT_EQ(inventory.unknown_sizes(0), 0u);
  EXPECT_EQ(inventory.alien_bytes(), 17u);
}

}  // namespace
}  // namespace zazen
