#include "daemon/capacity/pins.h"

#include <limits>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using Ranges = std::vector<FrameRange>;
constexpr FrameSeq kLast = std::numeric_limits<FrameSeq>::max();

TEST(PinsTest, RangesThatMeetBecomeOne) {
  Pins pins;
  pins.pin({10, 19});
  pins.pin({30, 39});
  pins.pin({20, 25});
  EXPECT_EQ(pins.ranges(), (Ranges{{10, 25}, {30, 39}}));
  pins.pin({0, 5});
  pins.pin({26, 29});
  EXPECT_EQ(pins.ranges(), (Ranges{{0, 5}, {10, 39}}));
  pins.pin({0, kLast});
  pins.pin({kLast, kLast});
  EXPECT_EQ(pins.ranges(), (Ranges{{0, kLast}}));
}

TEST(PinsTest, UnpinLeavesWhatIsOutside) {
  Pins pins;
  pins.pin({0, kLast});
  pins.unpin({0, 9});
  pins.unpin({20, 29});
  pins.unpin({kLast, kLast});
  EXPECT_EQ(pins.ranges(), (Ranges{{10, 19}, {30, kLast - 1}}));
  for (FrameSeq inside : {10, 19, 30}) EXPECT_TRUE(pins.contains(inside));
  for (FrameSeq outside : {0, 9, 20, 29}) EXPECT_FALSE(pins.contains(outside));
  EXPECT_FALSE(pins.contains(kLast));
  pins.unpin({0, kLast});
  EXPECT_TRUE(pins.ranges().empty());
}

TEST(PinsTest, TextIsReadAsWritten) {
  Pins pins;
  pins.pin({1, 2});
  pins.pin({7, kLast});
  Result<Pins> again = Pins::parse(pins.text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->ranges(), pins.ranges());
  EXPECT_TRUE(Pins::parse("").ok());
  for (const char* damaged :
       {"1\n", "1 2 3\n", "2 1\n", "x y\n", "1 99999999999999999999999\n"}) {
    EXPECT_FALSE(Pins::parse(damaged).ok()) << damaged;
  }
}

}  // namespace
}  // namespace zazen
