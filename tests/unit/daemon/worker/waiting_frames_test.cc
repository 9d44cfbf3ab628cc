// When fills that nobody has begun may begin.
#include "daemon/worker/fills/waiting_frames.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

using Waiting = WaitingFrames<int>;
using When = Waiting::When;
using std::chrono::milliseconds;

class WaitingFramesTest : public testing::Test {
 protected:
  // The frame that begins now, 0 for none.
  int take() { return waiting_.take(now_, last_miss_).value_or(0); }
  void miss(int frame) {
    last_miss_ = now_;
    waiting_.add(frame, When::kSoon, now_ + Waiting::kQuiet);
  }

  Waiting waiting_;
  Waiting::Time now_{std::chrono::hours(1)}, last_miss_ = now_;
};

TEST_F(WaitingFramesTest, AFillThatSomebodyWaitsForBeginsAtOnce) {
  miss(1);
  waiting_.add(2, When::kNow, {});
  waiting_.add(3, When::kNow, {});
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(take(), 3);
  EXPECT_EQ(take(), 0);
}

TEST_F(WaitingFramesTest, WhenProgramsAreQuietAllMayBegin) {
  miss(1);
  now_ += milliseconds(10);
  miss(2);
  now_ = last_miss_ + Waiting::kQuiet - milliseconds(1);
  EXPECT_EQ(take(), 1) << "one has waited long enough, and no other is under way";
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(waiting_.next(last_miss_), last_miss_ + Waiting::kQuiet);
  now_ = last_miss_ + Waiting::kQuiet;
  EXPECT_EQ(take(), 2);
}

TEST_F(WaitingFramesTest, WhileProgramsMissFillsHaveASmallShare) {
  constexpr int kMisses = 10'000;
  milliseconds spent(0);
  for (int i = 1; i <= kMisses; ++i) {
    miss(i);
    now_ += milliseconds(1);
    if (take() == 0) continue;
    EXPECT_EQ(take(), 0) << "one at a time";
    const Waiting::Time began = now_;
    for (int during = 0; during < 5; ++during) {
      miss(kMisses + i);
      now_ += milliseconds(1);
    }
    EXPECT_EQ(take(), 0);
    waiting_.ended(began, now_, true);
    spent += milliseconds(5);
  }
  EXPECT_GT(spent, milliseconds(kMisses) / 25);
  EXPECT_LE(spent, milliseconds(kMisses) / Waiting::kRest);
}

TEST_F(WaitingFramesTest, AFillThatIsNoBurdenNeedsNoRest) {
  miss(1);
  miss(2);
  now_ += Waiting::kQuiet;
  last_miss_ = now_;
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(take(), 0);
  waiting_.ended(now_, now_ + milliseconds(500), false);
  EXPECT_EQ(take(), 2);
}

TEST_F(WaitingFramesTest, AFrameThatWasPutAsideWaitsForALongQuiet) {
  const Waiting::Place place = waiting_.add(1, When::kIdle, now_);
  now_ += Waiting::kIdleQuiet - milliseconds(1);
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(waiting_.next(last_miss_), last_miss_ + Waiting::kIdleQuiet);
  const Waiting::Place moved = waiting_.move(place, When::kSoon, now_ + milliseconds(1));
  EXPECT_EQ(take(), 0);
  waiting_.move(moved, When::kIdle, now_);
  now_ += milliseconds(1);
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(waiting_.size(), 0u);
  EXPECT_EQ(waiting_.next(last_miss_), Waiting::Time::max());
}

TEST_F(WaitingFramesTest, AStopTakesAll) {
  miss(1);
  waiting_.add(2, When::kIdle, now_);
  EXPECT_EQ(waiting_.take_any(), 1);
  EXPECT_EQ(waiting_.take_any(), 2);
  EXPECT_EQ(waiting_.take_any(), std::nullopt);
}

}  // namespace
}  // namespace zazen
