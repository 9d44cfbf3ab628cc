// TurnMutex: a mutex that goes to those who wait in the order in which they came.
//
// With std::mutex a thread that lets go and takes it again, as an eviction of a million copies
// does between its parts, nearly always gets it back, and whoever waits does so to the end.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace zazen {

class TurnMutex {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    std::uint64_t mine = next_++;
    changed_.wait(lock, [&] { return serving_ == mine; });
  }
  void unlock() {
    std::lock_guard lock(mutex_);
    ++serving_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace zazen
