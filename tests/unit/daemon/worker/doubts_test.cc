// Datasets that a user's programs put in doubt, as far as the origin lets the user.
#include "daemon/worker/origins/doubts.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace zazen {
namespace {

class DoubtsTest : public ::testing::Test {
 protected:
  // Whether zazend was told when the doubt about dataset 3 is settled.
  bool is_told_after(int answer) {
    answer_ = answer;
    std::promise<bool> settled;
    doubts_.cast(3, kLost, [&] { settled.set_value(told_.exchange(0) > 0); });
    return settled.get_future().get();
  }
  Doubts::Hooks hooks() {
    return {.may_search =
                [this](std::uint32_t dataset) {
                  EXPECT_EQ(dataset, 3u);
                  ++asked_;
                  return answer_.load();
                },
            .tell =
                [this](std::uint32_t dataset, Doubts::Why why, const Doubts::Settled& settled) {
                  EXPECT_EQ(dataset, 3u);
                  why_ = why;
                  ++told_;
                  settled();
                }};
  }

  static constexpr Doubts::Why kLost = Doubts::Why::kLost, kUntold = Doubts::Why::kUntold;
  std::atomic<int> answer_ = 0, told_ = 0, asked_ = 0;
  std::atomic<Doubts::Why> why_ = kLost;
  Doubts doubts_{hooks(), std::chrono::hours(1)};
};

TEST_F(DoubtsTest, TheOriginDecides) {
  EXPECT_TRUE(is_told_after(0));
  EXPECT_FALSE(is_told_after(EACCES));
  EXPECT_FALSE(is_told_after(EPERM));
  EXPECT_TRUE(is_told_after(0)) << "it is asked each time";
}

TEST_F(DoubtsTest, AnOriginThatCannotTellIsAskedAgain) {
  answer_ = EIO;
  std::promise<void> settled;
  doubts_.cast(3, kLost, [&] { settled.set_value(); });
  std::future<void> end = settled.get_future();
  while (asked_ < 3) {
    doubts_.ask_again();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(doubts_.is_empty());
  EXPECT_EQ(told_, 0);
  answer_ = EACCES;
  while (end.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    doubts_.ask_again();
  }
  EXPECT_EQ(told_, 0);
  EXPECT_TRUE(doubts_.is_empty());
}

TEST_F(DoubtsTest, WhereTheOriginDoesNotAnswerTheUserIsBelieved) {
  std::promise<void> gate, settled;
  Doubts::Hooks hanging = hooks();
  hanging.may_search = [open = gate.get_future().share()](std::uint32_t) {
    open.wait();
    return EACCES;
  };
  Doubts doubts(hanging, std::chrono::milliseconds(0));
  doubts.cast(3, kLost, [&] { settled.set_value(); });
  EXPECT_EQ(told_, 0);
  doubts.cast(3, kUntold);
  doubts.ask_again();
  settled.get_future().wait();
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(why_, kUntold) << "the graver of both";
  gate.set_value();
}

TEST_F(DoubtsTest, OneThatZazendIsNotToldYetIsThere) {
  std::promise<bool> was_empty;
  Doubts* doubts = nullptr;
  Doubts::Hooks looking = hooks();
  looking.tell = [&](std::uint32_t, Doubts::Why, const Doubts::Settled&) {
    was_empty.set_value(doubts->is_empty());
  };
  Doubts asked(looking);
  doubts = &asked;
  asked.cast(3, kLost);
  EXPECT_FALSE(was_empty.get_future().get()) << "the worker might leave";
  while (!asked.is_empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_F(DoubtsTest, ADatasetThatCannotBeIsNoneOfThem) {
  std::promise<void> settled;
  doubts_.cast(kMaxDatasets, kLost, [&] { settled.set_value(); });
  settled.get_future().wait();
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace zazen
