// D10: the sweep finds every stale copy, and says until when opens have to be checked.
#include "daemon/validation/sweep.h"

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
    trust_.emplace([this](std::uint32_t, std::uint32_t doubts) {
      checked_ = doubts != 0;
      if (checked_) ++doubts_;
    });
    sweep_ = std::make_unique<Sweep>(
        *store_, *trust_, period_ms,
        Sweep::Hooks{.drop =
                         [this](std::uint32_t dataset, const SampleResult& result) {
                           store_->drop_exactly(dataset, result.stale);
                           if (on_drop_) on_drop_();
                         },
                     .compare =
                         [this, here = compare_here(config_)](auto&&... args) {
                           if (on_compare_) on_compare_();
                           ++comparisons_;
                           return here(args...);
                         }});
    sweep_->start();
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
  std::atomic<int> comparisons_ = 0;
  std::function<void()> on_drop_, on_compare_;
  std::optional<Trust> trust_;
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
  bool checked_in_the_next = false;
  on_compare_ = [&] {
    if (comparisons_ == 0) trust_->doubt(0, kStale);
    if (comparisons_ == 1) checked_in_the_next = checked_;
  };
  start(kShortMs);
  wait_for([&] { return comparisons_ >= 2; });
  EXPECT_TRUE(checked_in_the_next) << "the pass that was under way had begun before";
  wait_for([&] { return !checked_; });
}

TEST_F(SweepTest, SaysWhetherThereAreDoubts) {
  restart_cleanly();
  start(kNever);
  EXPECT_FALSE(trust_->is_in_doubt(0));
  trust_->doubt(0, kUnwatched);
  wait_for([&] { return !checked_; });  // all is compared, at once
  EXPECT_FALSE(trust_->is_in_doubt(0));
  trust_->doubt(0, kStale);
  EXPECT_TRUE(trust_->is_in_doubt(0));
}

TEST_F(SweepTest, WithoutPassesDoubtStays) {
  restart_cleanly();
  start(kNever);
  trust_->doubt(0, kStale);
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
    trust_->doubt(0, kUnwatched);
  };
  start(kNever);
  store_->reconcile(0);
  wait_for([&] { return !store_->find(0, 1); });
  EXPECT_EQ(held(), (Frames{3, 4, 5}));
}

TEST_F(SweepTest, ALatePassDelaysNoDoubt) {
  restart_cleanly();
  on_compare_ = [] { ::usleep(10'000); };
  start(1);
  wait_for_passes(1);
  trust_->doubt(0, kUnwatched);
  wait_for([&] { return !checked_; });
}

TEST_F(SweepTest, DoubtsWithoutEndDelayNoPass) {
  restart_cleanly();
  on_compare_ = [this] { trust_->doubt(0, kUnwatched); };
  start(kShortMs);
  wait_for_passes(2);
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
