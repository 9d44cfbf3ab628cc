// WorkerThreads: threads that may be caught in an origin or a network that does not answer.
//
// Such a thread cannot be ended from outside. join_for() waits for all, up to a limit; if one
// is still busy then, all that it uses must stay in place. Those that are busy when this object
// goes are left to themselves.
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

  // Also joins those that have ended, as reap() does: until then they keep their stacks.
  void start(std::function<void()> work);
  void reap();
  // True: all have ended. To be called once no more are started, and again if it was false.
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
