// Doubts: datasets of which this user's programs may have changed frames without the worker
// dealing with it: a program could not tell (Counters::untold_changes), or there was no room
// for its message.
//
// zazend puts a dataset in doubt by the worker's word, and then each open of it is checked for
// everybody. So the worker asks the origin first whether its user may search the dataset's
// directory: nobody can do that to a dataset that is closed to them. An origin that cannot tell
// is asked again, for kLimit: then the user is believed, for stale bytes would be worse. Thread
// safe.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "bodhi/lean/system/base_types.h"
#include "daemon/threads/origin_threads.h"

namespace zazen {

class Doubts {
 public:
  static constexpr std::chrono::seconds kLimit{1};

  enum class Why { kLost, kUntold };  // messages, changes
  using Settled = std::function<void()>;
  struct Hooks {
    // 0: the user may search the dataset's directory; otherwise an errno.
    std::function<int(std::uint32_t dataset)> may_search;
    // Without waiting: zazend is told, and `settled` called when it doubts the dataset.
    std::function<void(std::uint32_t dataset, Why why, Settled settled)> tell;
  };
  explicit Doubts(Hooks hooks, std::chrono::milliseconds limit = kLimit)
      : hooks_(std::move(hooks)), limit_(limit) {}

  // `settled` may be empty. It is called when zazend knows, or when this user has no say.
  void cast(std::uint32_t dataset, Why why, Settled settled = {});
  // To be called about once a second.
  void ask_again();
  // zazend has been sent all that it is to be told.
  bool is_empty() const;

 private:
  void ask(std::uint32_t dataset);

  const Hooks hooks_;
  const std::chrono::milliseconds limit_;
  struct Question {
    bool is_open = false;
    Why why = Why::kLost;    // kUntold is the graver one
    bool is_posted = false;  // a thread asks it
    std::chrono::steady_clock::time_point since;
    std::vector<Settled> settled;
  };
  // These two: mutex_ is held.
  void post(std::uint32_t dataset);
  Question close(std::uint32_t dataset);
  // Follows each close().
  void settle(std::uint32_t dataset, const Question& question, bool is_believed);

  mutable std::mutex mutex_;
  std::array<Question, kMaxDatasets> questions_;
  std::size_t settling_ = 0;  // closed, and zazend is not told yet
  OriginThreads lanes_{1};
};

}  // namespace zazen
