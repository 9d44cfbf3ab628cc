// WorkerThreads: threads that may block in an origin or a network that does not answer.
//
// Such a thread cannot be ended from outside. join_for() waits for all threads, up to a limit.
// If a thread is still busy then, the caller must keep alive everything that the thread uses.
// The destructor detaches threads that are still busy.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace zazen {

class WorkerThreads {
 public:
  WorkerThreads() = default;
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Also joins the threads that have ended, as reap() does: an unjoined thread keeps its stack.
  void start(std::function<void()> work);
  void reap();
  // True: all have ended. To be called when no more threads will be started, and again after
  // false.
  bool join_for(std::chrono::milliseconds limit);
  std::size_t size() const { return threads_.size(); }  // of those not joined

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = 0;
    std::vector<std::thread::id> ended;  // and not yet joined
  };
  void join_ended();  // the state's mutex is held

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::vector<std::thread> threads_;
};

}  // namespace zazen
