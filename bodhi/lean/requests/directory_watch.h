// DirectoryWatch: where a dataset's frame directory is, and whether this process may search it.
//
// The directory is looked up at first use and again every 30 s. So a replaced directory, or a
// loss of access, is noticed (D15). After a failure the next look-up is a second later. Zeroed
// memory is a watch without a look-up. Lean.
#pragma once
#include <sys/types.h>

#include <atomic>

#include "bodhi/lean/frames/frame_name.h"

namespace zazen {

struct DirectoryKey {
  dev_t dev;
  ino_t ino;
  bool operator==(const DirectoryKey&) const = default;
};

// By raw system calls; false if the path leads to no directory.
bool directory_key(const char* path, DirectoryKey* key);

// Readable without a lock.
class DirectoryWatch {
 public:
  // False if the directory cannot be reached. *key: where it was found last (ino 0: never).
  bool look(const char* dataset, const FrameName& name, std::int64_t now_ms,
            DirectoryKey* key) {
    if (!has_looked(now_ms)) [[unlikely]]
      look_anew(dataset, name, now_ms);
    *key = {dev_.load(std::memory_order_relaxed), ino_.load(std::memory_order_relaxed)};
    return reachable_.load(std::memory_order_relaxed);
  }
  // True within this time: look() does not access the file system.
  bool has_looked(std::int64_t now_ms) const {
    const std::int64_t looked_at_ms = looked_at_ms_.load(std::memory_order_acquire);
    return looked_at_ms != 0 && now_ms - looked_at_ms <= kAgainMs;
  }
  void forget() { looked_at_ms_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kAgainMs = 30'000;
  void look_anew(const char* dataset, const FrameName& name, std::int64_t now_ms);

  std::atomic<std::uint64_t> dev_;  // where it was found last
  std::atomic<std::uint64_t> ino_;
  std::atomic<bool> reachable_;
  std::atomic<std::int64_t> looked_at_ms_;  // 0: never
};

}  // namespace zazen
