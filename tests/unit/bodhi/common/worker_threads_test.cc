#include "bodhi/common/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>

namespace zazen {
namespace {

using std::chrono::milliseconds;

TEST(WorkerThreads, EndedOnesDoNotPileUp) {
  WorkerThreads threads;
  std::size_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    std::atomic<bool> ran = false;
    threads.start([&] { ran = true; });
    while (!ran) std::this_thread::yield();
    most = std::max(most, threads.size());
  }
  EXPECT_LT(most, 500u);  // all but the last few, as they are scheduled
  EXPECT_TRUE(threads.join_for(milliseconds(10'000)));
  EXPECT_EQ(threads.size(), 0u);
}

TEST(WorkerThreads, OneThatHangsIsLeftAndCanBeWaitedForAgain) {
  auto released = std::make_shared<std::atomic<bool>>(false);
  WorkerThreads threads;
  threads.start([released] { released->wait(false); });
  EXPECT_FALSE(threads.join_for(milliseconds(1)));
  released->store(true);
  released->notify_all();
  EXPECT_TRUE(threads.join_for(milliseconds(10'000)));
}

}  // namespace
}  // namespace zazen
