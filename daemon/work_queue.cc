#include "daemon/work_queue.h"

#include "daemon/crash_report.h"

namespace zazen {

WorkQueue::WorkQueue(int threads) {
  for (int i = 0; i < threads; ++i) threads_.start([this] { run(); });
}

void WorkQueue::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
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
