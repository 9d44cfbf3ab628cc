#include "bodhi/common/worker_threads.h"

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

void WorkerThreads::reap() {
  std::lock_guard lock(state_->mutex);
  join_ended();
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
  join_ended();
  return ended;
}

WorkerThreads::~WorkerThreads() {
  for (std::thread& thread : threads_) thread.detach();
}

}  // namespace zazen
