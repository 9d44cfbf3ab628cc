// When fills may fetch: the share that they take while programs read, and when they go ahead.
#include "daemon/worker/fills/fill_throttle.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using std::chrono::milliseconds;
using Fetch = FillThrottle::Fetch;

class FillThrottleTest : public ::testing::Test {
 protected:
  // One piece that takes this long.
  void fetch(milliseconds piece) {
    FillThrottle::Clock::time_point began = now_;
    now_ += piece;
    pace_.fetched(began, now_);
  }

  FillThrottle pace_;
  FillThrottle::Clock::time_point now_ = FillThrottle::Clock::now();
};

TEST_F(FillThrottleTest, WhileProgramsReadFillsHaveASmallShare) {
  milliseconds spent(0), all(20'000);
  FillThrottle::Clock::time_point end = now_ + all;
  while (now_ < end) {
    pace_.note_reading(now_);
    if (pace_.may_fetch(now_)) {
      fetch(milliseconds(10));
      spent += milliseconds(10);
    } else {
      now_ += milliseconds(1);
    }
  }
  EXPECT_GT(spent, all / 50);
  EXPECT_LE(spent, all / FillThrottle::kRest);
}

TEST_F(FillThrottleTest, WhileProgramsReadOneFillFetchesAtATime) {
  pace_.note_reading(now_ + milliseconds(900));
  now_ += milliseconds(1000);
  pace_.note_reading(now_);
  EXPECT_TRUE(pace_.may_fetch(now_));
  EXPECT_FALSE(pace_.may_fetch(now_));
}

TEST_F(FillThrottleTest, WhenProgramsAreQuietFillsDoNotRest) {
  pace_.note_reading(now_);
  EXPECT_FALSE(pace_.may_fetch(now_ + milliseconds(1)));
  now_ += milliseconds(1000);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pace_.may_fetch(now_));
  for (int i = 0; i < 4; ++i) fetch(milliseconds(5));
  EXPECT_TRUE(pace_.may_fetch(now_));
}

TEST_F(FillThrottleTest, SpareFillsRestThoughProgramsAreQuiet) {
  pace_.note_reading(now_);
  milliseconds spent(0), all(20'000);
  EXPECT_FALSE(pace_.may_fetch(now_ + FillThrottle::kShortestPiece * FillThrottle::kSpareRest,
                               Fetch::kSpare));
  now_ += milliseconds(1000);
  for (const FillThrottle::Clock::time_point end = now_ + all; now_ < end;) {
    if (pace_.may_fetch(now_, Fetch::kSpare)) {
      EXPECT_FALSE(pace_.may_fetch(now_, Fetch::kSpare)) << "one at a time";
      fetch(milliseconds(10));
      spent += milliseconds(10);
    } else {
      now_ += milliseconds(1);
    }
  }
  EXPECT_GT(spent, all / (FillThrottle::kSpareRest + 2));
  EXPECT_LE(spent, all / FillThrottle::kSpareRest);
}

TEST_F(FillThrottleTest, WhatIsFetchedAheadWaitsForAShortQuiet) {
  now_ += milliseconds(1000);
  ASSERT_TRUE(pace_.may_fetch(now_));
  fetch(milliseconds(10));
  pace_.note_reading(now_);
  EXPECT_FALSE(pace_.may_fetch(now_ + milliseconds(9), Fetch::kAhead));
  EXPECT_TRUE(pace_.may_fetch(now_ + milliseconds(10), Fetch::kAhead));
  fetch(milliseconds(1000));  // behind a program's requests, perhaps
  pace_.note_reading(now_);
  EXPECT_FALSE(pace_.may_fetch(now_ + milliseconds(30), Fetch::kAhead));
  EXPECT_TRUE(pace_.may_fetch(now_ + FillThrottle::kLongestAhead, Fetch::kAhead));
}

TEST_F(FillThrottleTest, HowLongQuietIsFollowsTheOrigin) {
  now_ += milliseconds(1000);
  ASSERT_TRUE(pace_.may_fetch(now_));
  fetch(milliseconds(100));
  pace_.note_reading(now_);
  EXPECT_FALSE(pace_.may_fetch(now_ + 19 * milliseconds(100)));
  EXPECT_TRUE(pace_.may_fetch(now_ + 20 * milliseconds(100)));
}

TEST_F(FillThrottleTest, AnOriginThatHungOnceIsNotLeftForGood) {
  now_ += milliseconds(1000);
  ASSERT_TRUE(pace_.may_fetch(now_));
  fetch(std::chrono::minutes(10));
  EXPECT_TRUE(pace_.may_fetch(now_ + FillThrottle::kLongestRest));
}

}  // namespace
}  // namespace zazen
