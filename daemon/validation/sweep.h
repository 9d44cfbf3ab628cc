// Sweep: compares every copy in turn with its origin, in the background (D10).
//
// A pass is spread evenly over the period, so each copy is compared at least that often. At
// most kMostPerSecond are compared, so a pass over very many copies takes longer. Stale copies
// go to the `drop` hook and cast doubt on their dataset (trust.h). A whole later pass without
// stale copies clears that doubt; with a period of 0 it stays. Datasets that nobody watched are
// compared first, at full speed.
//
// The thread is the sweep's own. It waits for workers, which answer within a limit. Thread
// safe.
#pragma once
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "daemon/origin/trust.h"
#include "daemon/validation/sample.h"

namespace zazen {

struct SweepProgress {
  std::uint64_t passes = 0;    // that have ended
  std::int64_t ended_at = 0;   // the last one, in seconds since 1970; 0: none yet
  std::uint64_t compared = 0;  // in the pass under way
  std::uint64_t stale = 0;     // found since the start
};

class Sweep {
 public:
  static constexpr std::uint64_t kMostPerSecond = 2'000;

  struct Hooks {
    std::function<void(std::uint32_t dataset, const SampleResult& result)> drop;
    CompareAtOrigin compare;
  };

  // With a period of 0 there are no passes. If the last daemon did not stop cleanly, all
  // datasets are in doubt. Nothing is compared before start().
  Sweep(const Store& store, Trust& trust, std::uint64_t period_ms, Hooks hooks);
  ~Sweep() { stop(); }
  void start();

  SweepProgress progress() const;
  void stop();

 private:
  void run();
  void pass();
  bool pass_over(std::uint32_t dataset);
  std::int64_t pass_due_ms() const;
  void compare_all(const Trust::Due& due);
  std::size_t compare_next(std::uint32_t dataset, std::optional<FrameSeq>* from,
                           std::uint64_t most, SampleResult* result);
  std::vector<FrameSeq> frames_from(std::uint32_t dataset, FrameSeq first, std::size_t most);
  void pause_until(std::int64_t until_ms);
  bool is_stopping() const { return stop_.stop_requested(); }

  const Store& store_;
  Trust& trust_;
  const std::int64_t period_ms_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  SweepProgress progress_;
  std::stop_source stop_;
  std::thread thread_;

  // The thread's own:
  std::int64_t begin_ms_ = 0;  // of the pass
  std::uint64_t done_ = 0;
  std::deque<FrameSeq> ahead_;
  std::pair<std::uint32_t, FrameSeq> ahead_of_ = {};  // the first of them
};

}  // namespace zazen
