#include "daemon/work_queue.h"

#include <limits>

#include "daemon/crash_report.h"

namespace zazen {

WorkQueue::WorkQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.start([this] { run(); });
}

void WorkQueue::post(std::function<void()> work) {
  post_within(std::numeric_limits<std::size_t>::max(), std::move(work));
}

bool WorkQueue::post_within(std::size_t limit, std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return true;
    if (queue_.size() >= limit) return false;
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void WorkQueue::close() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  changed_.notify_all();
}

bool WorkQueue::stop(std::chrono::milliseconds limit) {
  close();
  return threads_.join_for(limit);
}

void WorkQueue::run() {
  CrashStack crash_stack;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace zazen
