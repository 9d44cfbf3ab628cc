// ReadOrder: brings copies into the page cache, one at a time, first come first served.
//
// A spinning disk gives two readers together half of the throughput of one, or less (D17). So a
// program asks here before it reads a copy that is not in memory, if seeks are expensive
// (kExpensiveSeekMs) or the configuration says so. It waits for its turn up to a limit; a
// request whose turn comes later is skipped. It is answered when the first megabyte is in
// memory. The turn goes on to the copy's end, or until a process closes the copy: a program
// that reads only the header delays nobody. Thread safe.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "bodhi/config/config.h"
#include "daemon/store/store.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

// The cost of a seek is measured by reads of copies that bypass the page cache. The attribute
// `rotational` of many virtual disks is wrong. In milliseconds, for single reads of 4 KB:
struct ReadTimes {
  std::vector<double> random;      // at random places of random copies
  std::vector<double> sequential;  // each where a random one ended
};

// Two dozen reads of each kind, or as many as 200 ms allow. There are fewer if no copies are
// large enough, or if the file system has no direct reads.
ReadTimes time_reads(const Store& store);

// The extra time of a random read over a sequential one, by their lower quartiles: a busy
// machine delays many reads. Nothing if there are too few reads.
std::optional<double> seek_cost_ms(ReadTimes times);

inline constexpr double kExpensiveSeekMs = 2;  // a spinning disk takes 5 to 15, flash 0.1

class ReadOrder {
 public:
  ReadOrder(const Store& store, ReadOrderKey key);

  struct State {
    bool is_ordered = false;
    bool is_measured = false;       // by the seek's cost, not by the configuration
    std::optional<double> seek_ms;  // nothing: unknown
  };
  State state() const;
  // Measures the cost of a seek, unless the configuration decides. It needs copies to measure,
  // and measures again when there are several times as many: a disk may have the first ones in
  // a cache of its own. `decided` gets the outcome.
  void measure_when_due(std::function<void(const State&)> decided);

  // `done` gets 0 when the program can begin to read the copy, or an errno.
  void ask(std::uint32_t dataset, FrameSeq seq, std::function<void(int status)> done);
  std::uint64_t copies_read() const { return copies_read_; }
  void stop() { queue_.stop(); }

 private:
  int read_in(std::uint32_t dataset, FrameSeq seq, const std::function<void(int)>& tell);

  const Store& store_;
  const ReadOrderKey key_;
  const UniqueFd closes_;            // an inotify instance
  std::uint64_t measured_at_bytes_;  // of the copies
  mutable std::mutex mutex_;
  State state_;
  std::atomic<std::uint64_t> copies_read_ = 0;
  WorkQueue queue_{1};
};

}  // namespace zazen
