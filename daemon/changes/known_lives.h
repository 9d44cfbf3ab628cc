// KnownLives: which lives of other daemons this node has met (reported_changes.h). They are
// kept in a file of the cache, so that they are still known after a restart. The file is not
// flushed: a life that is lost counts as new once more. Thread safe.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>

namespace zazen {

class KnownLives {
 public:
  static constexpr std::size_t kMost = 4'096;
  static constexpr char kFile[] = "peer-lives";

  // `state_fd` is the cache's .zazen directory, and stays open.
  explicit KnownLives(int state_fd);

  // False: this is the first time.
  bool has_met(std::uint64_t life) const;
  void remember(std::uint64_t life);

 private:
  const int state_fd_;
  mutable std::mutex mutex_;
  std::deque<std::uint64_t> lives_;  // the oldest first
};

}  // namespace zazen
