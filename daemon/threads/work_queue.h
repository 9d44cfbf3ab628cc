// WorkQueue: a queue, and threads that do the work in it. Work that may block (the disk, an
// origin) runs in such queues, so that the serving thread never blocks.
//
// Threads beyond the first ones start when work waits and all others are busy. If the system
// refuses a thread, the work stays queued for the existing threads. One thread of the process
// retries every kShortagePause, until the queue has its thread or no work. It does the work of
// queues that have no thread at all.
//
// Work that runs out of memory or threads ends there, and the queue goes on (shortage.h).
// Thread safe.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>

#include "bodhi/common/worker_threads.h"

namespace zazen {

class WorkQueue {
 public:
  static constexpr std::chrono::hours kForEver{24};
  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();
  enum class Queued { kDropped, kDone };  // at a stop

  struct OnDemand {
    std::size_t most;
  };

  // Starts all threads at once, or throws std::system_error.
  explicit WorkQueue(std::size_t threads);
  // Starts a thread when work waits for it.
  explicit WorkQueue(OnDemand threads);
  ~WorkQueue();

  // False: the queue has reached the limit. Otherwise the work is queued, or dropped after a
  // stop.
  bool post(std::function<void()> work, std::size_t limit = kAnyNumber);
  // Starts no further work, or only the queued work.
  void close(Queued queued = Queued::kDropped);
  // close(), and waits for running work, up to the limit. False: it still runs.
  bool stop(std::chrono::milliseconds limit = kForEver, Queued queued = Queued::kDropped);

 private:
  class Shortfall;

  void run();
  void do_queued();
  void add_thread();  // the caller of these three holds mutex_
  void grow() noexcept;
  bool is_starving() const { return made_ == 0 && !queue_.empty(); }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::size_t made_ = 0, idle_ = 0;  // threads
  bool stopping_ = false;
  bool is_helped_ = false;  // by the thread of the process
  WorkerThreads threads_;
};

}  // namespace zazen
