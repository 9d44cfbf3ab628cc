// Work that waits for an origin for ever, and what goes on meanwhile.
#include "daemon/threads/origin_threads.h"

#include <gtest/gtest.h>

#include <future>

namespace zazen {
namespace {

constexpr std::chrono::milliseconds kShort(20);

TEST(OriginThreadsTest, OneThatHangsHoldsUpItsOwnDatasetOnly) {
  std::promise<void> gate, reached;
  std::shared_future<void> open = gate.get_future().share();
  OriginThreads lanes(2);
  std::atomic<int> late = 0;
  for (int i = 0; i < 2; ++i) lanes.post(7, [open] { open.wait(); });
  lanes.post(7, [&] { ++late; });
  lanes.post(8, [&] { reached.set_value(); });
  reached.get_future().wait();
  EXPECT_EQ(late, 0) << "its turn has not come";
  gate.set_value();
  while (late == 0) std::this_thread::sleep_for(kShort);
}

TEST(OriginThreadsTest, AQueueHasAnEnd) {
  std::promise<void> gate, begun;
  OriginThreads lanes(1);
  lanes.post(7, [&] {
    begun.set_value();
    gate.get_future().wait();
  });
  begun.get_future().wait();
  for (std::size_t i = 0; i < OriginThreads::kLongestQueue; ++i) {
    ASSERT_TRUE(lanes.post(7, [] {}));
  }
  EXPECT_FALSE(lanes.post(7, [] {}));
  EXPECT_TRUE(lanes.post(8, [] {})) << "another dataset's";
  gate.set_value();
}

TEST(OriginThreadsTest, StopDoesNotWaitForWhatHangs) {
  // It stays: its thread still uses it, as in a process that is about to end.
  static auto* lanes = new OriginThreads(1);
  static std::promise<void> gate, begun, left;
  std::atomic<bool> dropped = true;
  lanes->post(0, [] {
    begun.set_value();
    gate.get_future().wait();
    left.set_value();
  });
  lanes->post(0, [&] { dropped = false; });
  begun.get_future().wait();
  EXPECT_FALSE(lanes->stop(kShort));
  lanes->post(1, [&] { dropped = false; });
  gate.set_value();
  left.get_future().wait();
  EXPECT_TRUE(lanes->stop(std::chrono::seconds(60)));
  EXPECT_TRUE(dropped);
}

TEST(OriginThreadsTest, LanesAreBounded) {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  OriginThreads lanes(1, WorkQueue::Queued::kDone, 2);
  std::atomic<int> running = 0, most = 0;
  auto hang = [&] {
    most = std::max<int>(most, ++running);
    open.wait();
    --running;
  };
  lanes.post(7, hang);
  // The other lane is free, or this dataset's already.
  for (int i = 0; i < 10; ++i) {
    std::promise<void> reached;
    lanes.post(100, [&] { reached.set_value(); });
    reached.get_future().wait();
  }
  for (std::uint32_t dataset = 200; dataset < 210; ++dataset) lanes.post(dataset, hang);
  while (running < 2) std::this_thread::sleep_for(kShort);
  std::this_thread::sleep_for(kShort);
  gate.set_value();
  EXPECT_TRUE(lanes.stop(WorkQueue::kForEver));
  EXPECT_EQ(most, 2);
}

}  // namespace
}  // namespace zazen
