// Which datasets are in use, whatever users say of it.
#include "daemon/service/dataset_uses.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using Datasets = std::vector<std::uint32_t>;

constexpr uid_t kOwn = 0, kAlice = 1'000, kBob = 1'001;

TEST(DatasetUsesTest, FillsMoveTheClockOnce) {
  DatasetUses uses(kOwn);
  for (int i = 0; i < 3; ++i) uses.note_ask(kAlice, 7, true);
  uses.note_ask(kAlice, 8, false);
  const DatasetUses::Since since = uses.take({});
  EXPECT_EQ(since.fills, 3u);
  EXPECT_EQ(since.used, (Datasets{7, 8}));
  EXPECT_EQ(uses.take({}).fills, 0u);
  EXPECT_TRUE(uses.take({}).used.empty());
}

TEST(DatasetUsesTest, AUserMovesTheClockByLittle) {
  DatasetUses uses(kOwn);
  for (int i = 0; i < 1'000; ++i) {
    uses.note_ask(kAlice, 7, true);
    uses.note_ask(kBob, 8, true);
  }
  EXPECT_EQ(uses.take({}).fills, 2 * DatasetUses::kMostFills);
  for (int i = 0; i < 1'000; ++i) uses.note_ask(kOwn, 7, true);
  EXPECT_EQ(uses.take({}).fills, 1'000u);
}

TEST(DatasetUsesTest, HitsMoveNoClock) {
  DatasetUses uses(kOwn);
  EXPECT_EQ(uses.take({{7, kOwn}, {8, kAlice}}).fills, 0u);
}

TEST(DatasetUsesTest, HitsCountWhereTheUserHasAskedBefore) {
  DatasetUses uses(kOwn);
  uses.note_ask(kAlice, 7, false);
  uses.take({});
  EXPECT_EQ(uses.take({{7, kAlice}, {8, kAlice}, {7, kBob}}).used, Datasets{7});
  EXPECT_TRUE(uses.take({{7, kBob}, {8, kBob}}).used.empty());
  EXPECT_EQ(uses.take({{9, kOwn}}).used, Datasets{9}) << "zazend's own user is believed";
}

TEST(DatasetUsesTest, UsersBeyondALimitMoveNothing) {
  DatasetUses uses(kOwn);
  for (uid_t uid = 1; uid <= 2 * DatasetUses::kMostUsers; ++uid) uses.note_ask(uid, 7, true);
  const DatasetUses::Since since = uses.take({});
  EXPECT_EQ(since.fills, DatasetUses::kMostUsers);
  EXPECT_EQ(since.used, Datasets{7});
}

}  // namespace
}  // namespace zazen
