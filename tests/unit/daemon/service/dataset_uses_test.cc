// Which datasets are in use, whatever users say of it.
#include "daemon/service/dataset_uses.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using Datasets = std::vector<std::uint32_t>;
using Said = std::map<uid_t, Datasets>;

constexpr uid_t kOwn = 0, kAlice = 1'000, kBob = 1'001;

std::uint64_t fills_of(DatasetUses& uses) {
  uses.look({});
  return uses.look({}).fills;
}

TEST(DatasetUsesTest, FillsMoveTheClockOnce) {
  DatasetUses uses(kOwn);
  for (int i = 0; i < 3; ++i) uses.note_ask(kAlice, 7, true);
  uses.note_ask(kAlice, 8, false);
  const DatasetUses::Look first = uses.look({}), second = uses.look({});
  EXPECT_EQ(first.used, (Datasets{7, 8}));
  EXPECT_EQ(first.fills, 0u) << "workers have a look's time to say what is used";
  EXPECT_TRUE(second.used.empty());
  EXPECT_EQ(second.fills, 3u);
  EXPECT_EQ(uses.look({}).fills, 0u);
}

TEST(DatasetUsesTest, AUserMovesTheClockByLittle) {
  DatasetUses uses(kOwn);
  for (int i = 0; i < 1'000; ++i) {
    uses.note_ask(kAlice, 7, true);
    uses.note_ask(kBob, 8, true);
  }
  EXPECT_EQ(fills_of(uses), 2 * DatasetUses::kMostFills);
  for (int i = 0; i < 1'000; ++i) uses.note_ask(kOwn, 7, true);
  EXPECT_EQ(fills_of(uses), 1'000u);
}

TEST(DatasetUsesTest, HitsMoveNoClock) {
  DatasetUses uses(kOwn);
  uses.look({{7, kOwn}, {8, kAlice}});
  EXPECT_EQ(uses.look({{7, kOwn}, {8, kAlice}}).fills, 0u);
}

TEST(DatasetUsesTest, HitsOfACounterAreNoUse) {
  DatasetUses uses(kOwn);
  uses.note_ask(kAlice, 7, true);
  uses.look({});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(uses.look({{7, kAlice}, {8, kAlice}}).used.empty());
  uses.note_ask(kAlice, 7, false);
  EXPECT_EQ(uses.look({{8, kAlice}}).used, Datasets{7});
  EXPECT_EQ(uses.look({{9, kOwn}}).used, Datasets{9}) << "zazend's own user is believed";
}

TEST(DatasetUsesTest, WorkersAreAskedAboutHits) {
  DatasetUses uses(kOwn);
  EXPECT_EQ(uses.look({{7, kAlice}, {8, kAlice}, {7, kBob}, {9, kOwn}}).said,
            (Said{{kAlice, {7, 8}}, {kBob, {7}}}));
}

TEST(DatasetUsesTest, WhileTheClockStandsStillWorkersAreAskedOnce) {
  DatasetUses uses(kOwn);
  EXPECT_EQ(uses.look({{7, kAlice}}).said, (Said{{kAlice, {7}}}));
  EXPECT_EQ(uses.look({{7, kAlice}}).said, (Said{{kAlice, {7}}})) << "it has not answered";
  uses.note_ask(kAlice, 7, false);
  EXPECT_EQ(uses.look({{7, kAlice}, {8, kAlice}}).said, (Said{{kAlice, {8}}}));
  uses.note_ask(kBob, 8, true);
  EXPECT_EQ(uses.look({{7, kAlice}}).said, (Said{{kAlice, {7}}})) << "the clock will move";
  EXPECT_EQ(uses.look({{7, kAlice}}).said, (Said{{kAlice, {7}}})) << "the clock has moved";
  uses.note_ask(kAlice, 7, false);
  EXPECT_TRUE(uses.look({{7, kAlice}}).said.empty());
}

TEST(DatasetUsesTest, UsersBeyondALimitMoveNothing) {
  DatasetUses uses(kOwn);
  for (uid_t uid = 1; uid <= 2 * DatasetUses::kMostUsers; ++uid) uses.note_ask(uid, 7, true);
  EXPECT_EQ(uses.look({}).used, Datasets{7});
  EXPECT_EQ(uses.look({}).fills, DatasetUses::kMostUsers);
}

}  // namespace
}  // namespace zazen
