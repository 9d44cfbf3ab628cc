#include "daemon/threads/fair_mutex.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace zazen {
namespace {

TEST(FairMutex, ExcludesOthers) {
  FairMutex mutex;
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

bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  return text.substr(text.rfind(')') + 2, 1) == "S";
}

TEST(FairMutex, WaitingThreadHasItBeforeTheOneThatLetsGo) {
  FairMutex mutex;
  for (int round = 0; round < 20; ++round) {
    std::atomic<pid_t> waiting = 0;
    bool had_it = false;
    mutex.lock();
    std::thread other([&] {
      waiting = ::gettid();
      std::lock_guard lock(mutex);
      had_it = true;
    });
    while (waiting == 0 || !sleeps(waiting)) std::this_thread::yield();
    mutex.unlock();
    mutex.lock();
    EXPECT_TRUE(had_it);
    mutex.unlock();
    other.join();
  }
}

}  // namespace
}  // namespace zazen
