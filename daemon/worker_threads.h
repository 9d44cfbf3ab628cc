// WorkerThreads: threads that may be caught in an origin that does not answer.
//
// Such a thread cannot be ended from outside. join_for() waits for all, up to a limit; if one
// is still busy then, they are left to themselves and the process must end by _exit(), with all
// that they use still in place.
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
  void start(std::function<void()> work);
  // True: all have ended. To be called once no more are started.
  bool join_for(std::chrono::milliseconds limit);
  std::size_t size() const { return threads_.size(); }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = 0;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::vector<std::thread> threads_;
};

}  // namespace zazen
