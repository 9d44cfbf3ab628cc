#include "daemon/worker_threads.h"

namespace zazen {

void WorkerThreads::start(std::function<void()> work) {
  {
    std::lock_guard lock(state_->mutex);
    ++state_->running;
  }
  threads_.emplace_back([state = state_, work = std::move(work)] {
    work();
    std::lock_guard lock(state->mutex);
    --state->running;
    state->changed.notify_all();
  });
}

bool WorkerThreads::join_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  bool ended = state_->changed.wait_for(lock, limit, [this] { return state_->running == 0; });
  lock.unlock();
  for (std::thread& thread : threads_) ended ? thread.join() : thread.detach();
  threads_.clear();
  return ended;
}

}  // namespace zazen
