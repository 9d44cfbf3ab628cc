#include "daemon/turn_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace zazen {
namespace {

TEST(TurnMutex, ExcludesOthers) {
  TurnMutex mutex;
  std::uint64_t sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) {
        std::lock_guard lock(mutex);
        ++sum;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 8000u);
}

TEST(TurnMutex, WhoTakesItAgainAndAgainLetsOthersIn) {
  TurnMutex mutex;
  std::atomic<bool> waits = false, had_it = false;
  mutex.lock();
  std::thread other([&] {
    waits = true;
    std::lock_guard lock(mutex);
    had_it = true;
  });
  while (!waits) std::this_thread::yield();
  // It would end by a limit of the test if the other one never got its turn.
  while (!had_it) {
    mutex.unlock();
    mutex.lock();
  }
  mutex.unlock();
  other.join();
}

}  // namespace
}  // namespace zazen
