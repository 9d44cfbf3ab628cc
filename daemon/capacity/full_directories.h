// FullDirectories: datasets whose directory in the cache takes no more names although the disk
// has room (ext4 without large_dir, a limit of subdirectories). Such a cache is not full, and
// nothing is evicted. Fills of the dataset pause. They are tried again after a while, or when
// copies of the dataset have gone. Thread safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

namespace zazen {

class FullDirectories {
 public:
  static constexpr std::int64_t kPauseMs = 60'000;

  // True if the directory was not known to be full.
  bool note(std::uint32_t dataset, std::int64_t now_ms) {
    std::lock_guard lock(mutex_);
    std::int64_t& until_ms = paused_until_ms_[dataset];
    bool is_new = until_ms <= now_ms;
    until_ms = now_ms + kPauseMs;
    return is_new;
  }
  void clear(std::uint32_t dataset) {
    std::lock_guard lock(mutex_);
    paused_until_ms_.erase(dataset);
  }
  bool contains(std::uint32_t dataset, std::int64_t now_ms) const {
    std::lock_guard lock(mutex_);
    auto it = paused_until_ms_.find(dataset);
    return it != paused_until_ms_.end() && now_ms < it->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::int64_t> paused_until_ms_;
};

}  // namespace zazen
