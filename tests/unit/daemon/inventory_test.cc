#include "daemon/inventory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace zazen
