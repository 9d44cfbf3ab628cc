// FairMutex: a mutex that threads get in the order in which they asked.
//
// A thread that releases a std::mutex and locks it again nearly always gets it back, and the
// other threads wait until it is done. An eviction of a million copies does so between its
// parts.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace zazen {

class FairMutex {
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
