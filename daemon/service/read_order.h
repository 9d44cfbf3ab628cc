// ReadOrder: brings copies into the page cache, one at a time, first come first served.
//
// A spinning disk gives two readers at once half of what it gives one, and less (D17). So where
// seeks are expensive (seek_cost.h), or the configuration says so, a program asks here before it
// reads a copy that is not in memory, and waits for its turn, but not for ever: who has given up
// by the time its turn comes is passed over. It is answered when the first megabyte is there. The
// turn goes on to the copy's end, unless somebody closes the copy: a program that read no more
// than the header delays nobody. Thread safe.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "bodhi/config/config.h"
#include "daemon/store/store.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

class ReadOrder {
 public:
  ReadOrder(const Store& store, ReadOrderKey key);

  struct State {
    bool is_ordered = false;
    bool is_measured = false;       // by the seek's cost, not by the configuration
    std::optional<double> seek_ms;  // nothing: not known
  };
  State state() const;
  // Unless the configuration says whether reads are ordered: measures what a seek costs, when
  // there are copies to measure it with, and again when there are several times as many. A disk
  // may have the first ones in a memory of its own. `decided` is told the outcome.
  void measure_when_due(std::function<void(const State&)> decided);

  // `done` is told 0 when the program can begin to read the copy, or an errno.
  void ask(std::uint32_t dataset, FrameSeq seq, std::function<void(int status)> done);
  std::uint64_t copies_read() const { return copies_read_; }
  void stop() { queue_.stop(); }

 private:
  int read_in(std::uint32_t dataset, FrameSeq seq, const std::function<void(int)>& tell);

  const Store& store_;
  const ReadOrderKey key_;
  const UniqueFd closes_;  // an inotify instance
  std::uint64_t measured_at_bytes_;  // of the copies
  mutable std::mutex mutex_;
  State state_;
  std::atomic<std::uint64_t> copies_read_ = 0;
  WorkQueue queue_{1};
};

}  // namespace zazen
