#include "daemon/worker/push/rate_limit.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using std::chrono::milliseconds;

TEST(RateLimit, WhoTakesTogetherStaysBelowTheRate) {
  RateLimit limit(1000);
  RateLimit::Clock::time_point now = RateLimit::Clock::now();
  EXPECT_EQ(limit.take(1000, now), milliseconds(0));  // a second's worth at once
  EXPECT_EQ(limit.take(500, now), milliseconds(500));
  EXPECT_EQ(limit.take(500, now + milliseconds(500)), milliseconds(500));
  EXPECT_EQ(limit.take(1000, now + milliseconds(9'000)), milliseconds(0));
  EXPECT_EQ(limit.take(1, now + milliseconds(9'000)), milliseconds(1));
}

TEST(RateLimit, NoneIsNone) {
  RateLimit limit(0);
  EXPECT_EQ(limit.take(~std::uint64_t{0}), milliseconds(0));
}

}  // namespace
}  // namespace zazen
