// D10: the sweep finds every stale copy, and says until when opens have to be checked.
#include "daemon/sweep.h"

#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

constexpr std::uint64_t kShortMs = 50, kNever = 0;

class SweepTest : public FilledStore {
 protected:
  void restart_cleanly() {
    store_->stop_cleanly();
    open_store();
    ASSERT_TRUE(store_->stopped_cleanly());
  }
  void start(std::uint64_t period_ms) {
    sweep_ = std::make_unique<Sweep>(
        *store_, period_ms,
        Sweep::Hooks{.mark =
                         [this](std::uint32_t, bool checked) {
                           checked_ = checked;
                           if (checked) ++doubts_;
                         },
                     .drop =
                         [this](std::uint32_t dataset, const SampleResult& result) {
                           store_->drop_exactly(dataset, result.stale);
                           if (on_drop_) on_drop_();
                         }});
  }
  void TearDown() override { sweep_.reset(); }

  template <class Condition>
  static void wait_for(Condition condition) {
    while (!condition()) ::usleep(1000);
  }
  void wait_for_passes(std::uint64_t count) {
    std::uint64_t end = sweep_->progress().passes + count;
    wait_for([&] { return sweep_->progress().passes >= end; });
  }

  std::atomic<bool> checked_ = false;
  std::atomic<int> doubts_ = 0;
  std::function<void()> on_drop_;
  std::unique_ptr<Sweep> sweep_;
};

TEST_F(SweepTest, ARewrittenFrameIsFoundAndCastsDoubtUntilAPassIsClean) {
  restart_cleanly();
  start(kShortMs);
  wait_for_passes(2);
  EXPECT_EQ(doubts_, 0);
  EXPECT_EQ(held(), (Frames{1, 2, 3, 4, 5}));
  rewrite(3);
  wait_for([&] { return !store_->find(0, 3); });
  EXPECT_EQ(doubts_, 1);
  wait_for([&] { return !checked_; });
  EXPECT_EQ(held(), (Frames{1, 2, 4, 5}));
  EXPECT_EQ(sweep_->progress().stale, 1u);
  EXPECT_NE(sweep_->progress().ended_at, 0);
}

TEST_F(SweepTest, DoubtThatIsSaidDuringAPassIsClearedByTheNext) {
  restart_cleanly();
  start(kShortMs);
  for (int i = 0; i < 20; ++i) {
    std::uint64_t passes = sweep_->progress().passes;
    sweep_->distrust(0);
    wait_for([&] { return !checked_; });
    // One that was under way does not count: it had begun before.
    EXPECT_GE(sweep_->progress().passes, passes + (i == 0 ? 0 : 1));
  }
}

TEST_F(SweepTest, SaysWhetherThereAreDoubts) {
  restart_cleanly();
  start(kNever);
  EXPECT_FALSE(sweep_->is_in_doubt(0));
  sweep_->doubt(0);
  wait_for([&] { return !checked_; });  // all is compared, at once
  EXPECT_FALSE(sweep_->is_in_doubt(0));
  sweep_->distrust(0);
  EXPECT_TRUE(sweep_->is_in_doubt(0));
}

TEST_F(SweepTest, WithoutPassesDoubtStays) {
  restart_cleanly();
  start(kNever);
  sweep_->distrust(0);
  ::usleep(50'000);
  EXPECT_TRUE(checked_);
  EXPECT_EQ(sweep_->progress().passes, 0u);
}

TEST_F(SweepTest, AfterAnUncleanStopAllIsComparedOnce) {
  rewrite(2);
  open_store();
  ASSERT_FALSE(store_->stopped_cleanly());
  start(kNever);
  EXPECT_GE(doubts_, 1);
  store_->reconcile(0);
  wait_for([&] { return !store_->find(0, 2); });
  EXPECT_TRUE(checked_);  // and now by a stale copy

  sweep_.reset();
  open_store();
  start(kNever);
  store_->reconcile(0);
  wait_for([&] { return !checked_; });
  EXPECT_EQ(held(), (Frames{1, 3, 4, 5}));
}

TEST_F(SweepTest, DoubtThatIsCastDuringAComparisonIsFollowedByAnother) {
  rewrite(2);
  open_store();
  on_drop_ = [this, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    rewrite(1);  // which was compared already
    sweep_->doubt(0);
  };
  start(kNever);
  store_->reconcile(0);
  wait_for([&] { return !store_->find(0, 1); });
  EXPECT_EQ(held(), (Frames{3, 4, 5}));
}

TEST_F(SweepTest, AnOriginThatIsNotThereKeepsCopiesAndDoubt) {
  std::string moved = directory() + "/moved";
  std::filesystem::rename(origin(), moved);
  std::filesystem::create_directory(origin());
  open_store();
  store_->reconcile(0);
  start(kShortMs);
  wait_for_passes(3);
  EXPECT_TRUE(checked_);
  EXPECT_EQ(held(), (Frames{1, 2, 3, 4, 5}));

  std::filesystem::remove(origin());
  std::filesystem::rename(moved, origin());
  wait_for([&] { return !checked_; });
  EXPECT_EQ(held(), (Frames{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace zazen
