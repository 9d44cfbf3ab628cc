// A question that is never answered, and what goes on meanwhile.
#include "daemon/origin_threads.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <future>

namespace zazen {
namespace {

constexpr std::chrono::milliseconds kShort(20);
constexpr std::chrono::seconds kLong(60);

TEST(OriginThreadsTest, QuestionIsAnswered) {
  OriginThreads origins;
  EXPECT_EQ(origins.ask(
                0, [] { return 0; }, kLong),
            0);
  EXPECT_EQ(origins.ask(
                0, [] { return ENOENT; }, kLong),
            ENOENT);
}

TEST(OriginThreadsTest, OneThatHangsHoldsUpItsOwnDatasetOnly) {
  OriginThreads origins;
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  auto hang = [open] {
    open.wait();
    return 0;
  };
  for (std::size_t i = 0; i < OriginThreads::kThreads; ++i) {
    EXPECT_EQ(origins.ask(
                  7, [] { return 0; }, kLong),
              0)
        << "by another thread";
    EXPECT_EQ(origins.ask(7, hang, kShort), ETIMEDOUT);
  }
  EXPECT_EQ(origins.ask(
                7, [] { return 0; }, kLong),
            ETIMEDOUT)
      << "refused at once";
  EXPECT_EQ(origins.ask(
                8, [] { return 0; }, kLong),
            0);
  origins.close(7, UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  gate.set_value();
  while (origins.ask(
             7, [] { return 0; }, kLong) != 0)
    std::this_thread::sleep_for(kShort);
}

TEST(OriginThreadsTest, StopDoesNotWaitForWhatHangs) {
  // It stays: its thread still uses it, as in a process that is about to end.
  static auto* origins = new OriginThreads;
  static auto* gate = new std::promise<void>;
  std::promise<void> left;
  std::future<void> has_left = left.get_future();
  auto hang = [&left] {
    gate->get_future().wait();
    left.set_value();
    return 0;
  };
  EXPECT_EQ(origins->ask(0, hang, kShort), ETIMEDOUT);
  EXPECT_FALSE(origins->stop(kShort));
  EXPECT_EQ(origins->ask(
                1, [] { return 0; }, kLong),
            ECANCELED);
  gate->set_value();
  has_left.wait();
  EXPECT_TRUE(origins->stop(std::chrono::seconds(60)));
}

}  // namespace
}  // namespace zazen
