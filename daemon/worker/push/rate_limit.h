// RateLimit: how long to pause so that all who take from it together stay below a rate. A
// second's worth may be taken at once. Thread safe.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace zazen {

class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RateLimit(std::uint64_t bytes_per_second) : rate_(bytes_per_second) {}  // 0: none

  std::chrono::milliseconds take(std::uint64_t bytes, Clock::time_point now = Clock::now()) {
    using std::chrono::milliseconds;
    if (rate_ == 0) return milliseconds(0);
    std::lock_guard lock(mutex_);
    paid_until_ = std::max(paid_until_, now - milliseconds(1000)) +
                  std::chrono::nanoseconds(static_cast<std::int64_t>(
                      static_cast<double>(bytes) * 1e9 / static_cast<double>(rate_)));
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(paid_until_ - now));
  }

 private:
  const std::uint64_t rate_;
  std::mutex mutex_;
  Clock::time_point paid_until_ = {};
};

}  // namespace zazen
