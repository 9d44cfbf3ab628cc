#include "bodhi/worker_threads.h"

#include <algorithm>

namespace zazen {

void WorkerThreads::start(std::function<void()> work) {
  std::lock_guard lock(state_->mutex);
  join_ended();
  threads_.emplace_back([state = state_, work = std::move(work)] {
    work();
    std::lock_guard at_end(state->mutex);
    --state->running;
    state->ended.push_back(std::this_thread::get_id());
    state->changed.notify_all();
  });
  ++state_->running;
}

void WorkerThreads::join_ended() {
  if (state_->ended.empty()) return;
  std::erase_if(threads_, [this](std::thread& thread) {
    if (std::ranges::count(state_->ended, thread.get_id()) == 0) return false;
    thread.join();
    return true;
  });
  state_->ended.clear();
}

bool WorkerThreads::join_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  const bool ended =
      state_->changed.wait_for(lock, limit, [this] { return state_->running == 0; });
  std::vector<std::thread> threads = std::move(threads_);
  threads_.clear();
  lock.unlock();
  for (std::thread& thread : threads) ended ? thread.join() : thread.detach();
  return ended;
}

WorkerThreads::~WorkerThreads() {
  for (std::thread& thread : threads_) thread.detach();
}

}  // namespace zazen
