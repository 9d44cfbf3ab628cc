// ReadOrder: brings whole copies into the page cache, one at a time, first come first served.
//
// A spinning disk gives two readers at once half of what it gives one, and less (D17). So where
// the cache is on such a disk, or the configuration says so, a program asks here before it
// reads a copy that is not in memory, and waits, but not for ever: who has given up by the time
// its turn comes is passed over. Thread safe.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <functional>

#include "bodhi/config.h"
#include "daemon/store.h"
#include "daemon/work_queue.h"

namespace zazen {

// Are reads to be ordered, by the configuration or else by the cache's device?
bool orders_reads(const Config& config, dev_t cache_dev);

class ReadOrder {
 public:
  explicit ReadOrder(const Store& store) : store_(store) {}

  // `done` is told 0 when the copy has been read, or an errno.
  void ask(std::uint32_t dataset, FrameSeq seq, std::function<void(int status)> done);
  std::uint64_t copies_read() const { return copies_read_; }
  void stop() { queue_.stop(); }

 private:
  int read_in(std::uint32_t dataset, FrameSeq seq);

  const Store& store_;
  std::atomic<std::uint64_t> copies_read_ = 0;
  WorkQueue queue_{1};
};

}  // namespace zazen
