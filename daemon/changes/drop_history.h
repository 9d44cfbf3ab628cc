// DropHistory: why copies were dropped, and why datasets are in doubt; for `zazenctl explain`.
// It does not record evictions. The last kMostFrames are kept. Thread safe. No input or output.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

class DropHistory {
 public:
  static constexpr std::size_t kMostFrames = 4'096;

  // `why` is a phrase for people.
  void note_drop(std::uint32_t dataset, FrameSeq seq, std::string why);
  void note_doubt(std::uint32_t dataset, std::string why);

  // {"dropped": {"why": ..., "at": seconds since 1970}, "doubted": the same}, each may be null.
  std::string json(std::uint32_t dataset, FrameSeq seq) const;

 private:
  struct Event {
    std::string why;
    std::int64_t at;
  };
  using Key = std::pair<std::uint32_t, FrameSeq>;

  mutable std::mutex mutex_;
  std::map<Key, Event> drops_;
  std::deque<Key> order_;  // of drops_, the oldest first
  std::map<std::uint32_t, Event> doubts_;
};

}  // namespace zazen
