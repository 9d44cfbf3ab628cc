// WorkQueue: a few threads for requests that may block (the disk, the origin), so that the
// thread that serves the clients never does.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "bodhi/worker_threads.h"

namespace zazen {

class WorkQueue {
 public:
  static constexpr std::chrono::hours kForEver{24};

  explicit WorkQueue(int threads);
  ~WorkQueue() { stop(); }

  void post(std::function<void()> work);
  // False: so many wait already.
  bool post_within(std::size_t limit, std::function<void()> work);
  // Nothing more is begun: what is queued is dropped.
  void close();
  // close(), and waits for what runs, up to the limit. False: it still runs.
  bool stop(std::chrono::milliseconds limit = kForEver);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  WorkerThreads threads_;
};

}  // namespace zazen
