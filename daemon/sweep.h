// Sweep: compares every copy in turn with its origin, in the background (D10).
//
// A pass is spread evenly over the period, so each copy is looked at at least that often; but
// never more than kMostPerSecond are, so with more copies than that allows a pass takes longer.
// What is stale goes to the `drop` hook.
//
// A dataset whose copies are in doubt (a stale one was found; the last daemon did not stop
// cleanly) is distrusted: the programs check each open, which the `mark` hook tells them, until
// a pass over that dataset, made at once and at full speed, has found nothing stale. If the
// origin cannot be asked it is tried again, and the dataset stays distrusted.
//
// The thread is the sweep's own: an origin that hangs holds up nothing else. Thread safe.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/sample.h"

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
    // Whether each open of the dataset is to be checked. Called with the lock held.
    std::function<void(std::uint32_t dataset, bool checked)> mark;
    std::function<void(std::uint32_t dataset, const SampleResult& result)> drop;
  };

  // A period of 0 makes no passes but those over what is distrusted.
  Sweep(const Store& store, std::uint64_t period_ms, Hooks hooks);
  ~Sweep() { stop(); }

  void distrust(std::uint32_t dataset);
  SweepProgress progress() const;
  void stop();

 private:
  struct Doubt {
    bool distrusted = false;
    std::uint64_t times =
        0;  // that it was said; a pass clears only what was known when it began
    std::int64_t due_ms = 0;
  };
  struct Shared {  // outlives the sweep if its thread hangs at the origin
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> stopping = false;
    bool ended = false;
    std::vector<Doubt> doubts;
    SweepProgress progress;
  };
  class Worker;

  static void distrust(Shared& shared, const Hooks& hooks, std::uint32_t dataset);

  const Hooks hooks_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace zazen
