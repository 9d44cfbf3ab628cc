// Sweep: compares every copy in turn with its origin, in the background (D10).
//
// A pass is spread evenly over the period, so each copy is looked at at least that often; but
// never more than kMostPerSecond are, so with more copies than that allows a pass takes longer.
// What is stale goes to the `drop` hook.
//
// While the copies of a dataset are in doubt the programs check each open, which the `mark`
// hook tells them. A stale copy casts doubt on its dataset, which may just be rewritten, until
// a whole pass that began later has found none; with a period of 0, for good. A daemon that did
// not stop cleanly casts doubt on all datasets, until each has been compared once, which is
// done at full speed. If an origin cannot be asked it is tried again, and the doubt stays.
//
// The threads are the sweep's own, one of them for each origin: one that hangs holds up nothing
// else. Thread safe.
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

  // A period of 0: no passes. If the last daemon did not stop cleanly, all is in doubt.
  Sweep(const Store& store, std::uint64_t period_ms, Hooks hooks);
  ~Sweep() { stop(); }

  // A stale copy was found.
  void distrust(std::uint32_t dataset);
  // As after an unclean stop: nobody watched the copies of this dataset.
  void doubt(std::uint32_t dataset);
  bool is_in_doubt(std::uint32_t dataset) const;
  SweepProgress progress() const;
  bool stop();  // false: the thread is still caught in an origin, or at the disk

 private:
  struct Doubt {
    bool unclean = false;
    std::uint64_t times_unclean = 0;  // a comparison clears only what it knew when it began
    bool stale = false;
    std::uint64_t times =
        0;  // that it was stale; a pass clears only what it knew when it began
    std::int64_t due_ms = 0;  // if unclean: when to compare it
  };
  struct Shared {  // outlives the sweep if its thread hangs at the origin
    std::mutex mutex;
    std::condition_variable changed;
    std::atomic<bool> stopping = false;
    bool ended = false;
    bool caught = false;  // in an origin
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
