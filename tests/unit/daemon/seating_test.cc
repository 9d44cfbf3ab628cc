#include "daemon/worker/seating.h"

#include <gtest/gtest.h>

#include <vector>

namespace zazen {
namespace {

using Seats = std::vector<Seat>;
constexpr uid_t kOne = 1000, kTwo = 1001;

TEST(Seating, TheQuietestOfTheHeaviestUserGivesWay) {
  Seats seats = {{1, kOne, 5, false}, {2, kOne, 3, false}, {3, kTwo, 1, false}};
  EXPECT_EQ(who_gives_way(seats, kTwo), 3);  // two each, with the newcomer: its own user's
  EXPECT_EQ(who_gives_way(seats, kOne), 2);
  seats.push_back({4, kOne, 2, true});
  EXPECT_EQ(who_gives_way(seats, kTwo), 2);  // the older one is served
}

TEST(Seating, WhoIsServedGivesWayToAnotherUserOnly) {
  Seats seats = {{1, kOne, 5, true}, {2, kOne, 3, true}, {3, kOne, 4, true}};
  EXPECT_EQ(who_gives_way(seats, kOne), std::nullopt);
  EXPECT_EQ(who_gives_way(seats, kTwo), 2);
}

TEST(Seating, NobodyIsThere) {
  EXPECT_EQ(who_gives_way({}, kOne), std::nullopt);
}

}  // namespace
}  // namespace zazen
