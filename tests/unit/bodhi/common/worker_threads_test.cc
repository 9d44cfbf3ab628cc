#include "bodhi/common/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>

namespace zazen {
namespace {

using std::chrono::milliseconds;

std::size_t threads_of_this_process() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                    std::filesystem::directory_iterator()));
}

TEST(WorkerThreads, StartJoinsThoseThatHaveEnded) {
  const std::size_t before = threads_of_this_process();
  std::atomic<bool> released = false;
  WorkerThreads threads;
  for (int i = 0; i < 3; ++i) threads.start([&] { released.wait(false); });
  EXPECT_EQ(threads.size(), 3u);
  released = true;
  released.notify_all();
  while (threads_of_this_process() > before) std::this_thread::yield();
  EXPECT_EQ(threads.size(), 3u);  // nobody has joined them yet
  threads.start([] {});
  EXPECT_EQ(threads.size(), 1u);
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
