#include "bodhi/writer/write_queue.h"

#include <gtest/gtest.h>

#include <set>

namespace zazen {
namespace {

TEST(Placement, TakesTheNodesInTurn) {
  Placement placement(5, 1);
  std::size_t first = placement.next().value();
  for (std::size_t i = 1; i < 100; ++i) {
    EXPECT_EQ(placement.next(), (first + i) % 5);
  }
}

TEST(Placement, TheFirstNodeIsAtRandom) {
  std::set<std::size_t> firsts;
  for (std::uint64_t seed = 0; seed < 200; ++seed) firsts.insert(*Placement(8, seed).next());
  EXPECT_EQ(firsts.size(), 8u);
  EXPECT_EQ(*Placement(8, 42).next(), *Placement(8, 42).next());
}

TEST(Placement, PassesOverTheDead) {
  Placement placement(4, 3);
  placement.mark_dead(2);
  EXPECT_TRUE(placement.is_dead(2));
  std::vector<int> given(4);
  for (int i = 0; i < 300; ++i) ++given[*placement.next()];
  EXPECT_EQ(given[2], 0);
  EXPECT_EQ(given[0] + given[1] + given[3], 300);

  placement.mark_alive(2);
  given.assign(4, 0);
  for (int i = 0; i < 400; ++i) ++given[*placement.next()];
  EXPECT_EQ(given, (std::vector<int>{100, 100, 100, 100}));
}

TEST(Placement, NobodyLeft) {
  Placement placement(2, 0);
  placement.mark_dead(0);
  placement.mark_dead(1);
  EXPECT_EQ(placement.next(), std::nullopt);
  placement.mark_alive(1);
  EXPECT_EQ(placement.next(), 1u);
  EXPECT_EQ(Placement(0, 7).next(), std::nullopt);
}

}  // namespace
}  // namespace zazen
