#include "bodhi/worker_threads.h"

namespace zazen {

void WorkerThreads::start(std::function<void()> work) {
  std::lock_guard lock(state_->mutex);
  threads_.emplace_back([state = state_, work = std::move(work)] {
    work();
    std::lock_guard at_end(state->mutex);
    --state->running;
    state->changed.notify_all();
  });
  ++state_->running;
}

bool WorkerThreads::join_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  if (!state_->changed.wait_for(lock, limit, [this] { return state_->running == 0; }))
    return false;
  std::vector<std::thread> ended = std::move(threads_);
  threads_.clear();
  lock.unlock();
  for (std::thread& thread : ended) thread.join();
  return true;
}

WorkerThreads::~WorkerThreads() {
  for (std::thread& thread : threads_) thread.detach();
}

}  // namespace zazen
