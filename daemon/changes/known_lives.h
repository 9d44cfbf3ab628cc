// KnownLives: which lives of other daemons this node has met (reported_changes.h), kept in a
// file of the cache, so that a restart of this node makes no others unknown. Not flushed: a
// life that is lost is met once more. Thread safe.
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

  // False: it is met for the first time.
  bool has_met(std::uint64_t life) const;
  void remember(std::uint64_t life);

 private:
  const int state_fd_;
  mutable std::mutex mutex_;
  std::deque<std::uint64_t> lives_;  // the oldest first
};

}  // namespace zazen
