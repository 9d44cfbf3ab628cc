// WorkQueue: a few threads for requests that may block (the disk, the origin), so that the
// thread that serves the clients never does.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace zazen {

class WorkQueue {
 public:
  explicit WorkQueue(int threads);
  ~WorkQueue() { stop(); }

  void post(std::function<void()> work);
  // Waits for what runs; what is queued is dropped.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace zazen
