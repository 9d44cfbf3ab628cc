#include "daemon/threads/work_queue.h"

#include <atomic>
#include <set>
#include <vector>

#include "daemon/process/crash_report.h"
#include "daemon/process/shortage.h"

namespace zazen {

// The thread that retries for all queues. The first queue starts it. It is never destroyed,
// because a hanging queue may outlive everything else.
class WorkQueue::Shortfall {
 public:
  static Shortfall& instance() {
    static Shortfall* only = new Shortfall;
    return *only;
  }

  void add(WorkQueue* queue) {
    std::lock_guard lock(mutex_);
    queues_.insert(queue);
  }
  void remove(WorkQueue* queue) {
    std::lock_guard lock(mutex_);
    queues_.erase(queue);
  }
  // Reports that a queue has fewer threads than it needs.
  void note() noexcept {
    is_any_ = true;
    is_any_.notify_one();
  }

 private:
  Shortfall() {
    std::thread([this] { run(); }).detach();
  }

  [[noreturn]] void run() {
    for (;;) {
      is_any_.wait(false);
      std::this_thread::sleep_for(kShortagePause);
      is_any_ = false;
      for (WorkQueue* queue : starving_queues()) queue->do_queued();
    }
  }

  // Each of these queues is marked, and is not destroyed before its work is done.
  std::vector<WorkQueue*> starving_queues() {
    std::vector<WorkQueue*> starving;
    std::lock_guard lock(mutex_);
    for (WorkQueue* queue : queues_) {
      std::lock_guard queue_lock(queue->mutex_);
      queue->grow();
      if (!queue->is_starving()) continue;
      if (despite_shortage([&] { starving.push_back(queue); })) queue->is_helped_ = true;
    }
    return starving;
  }

  std::mutex mutex_;
  std::set<WorkQueue*> queues_;
  std::atomic<bool> is_any_ = false;
};

WorkQueue::WorkQueue(OnDemand threads) : most_(threads.most) {
  Shortfall::instance().add(this);
}

// If this throws, the destructor stops the threads that were started.
WorkQueue::WorkQueue(std::size_t threads) : WorkQueue(OnDemand{threads}) {
  std::lock_guard lock(mutex_);
  while (made_ < most_) add_thread();
}

WorkQueue::~WorkQueue() {
  Shortfall::instance().remove(this);
  stop();
}

void WorkQueue::add_thread() {
  threads_.start([this] { run(); });
  ++made_;
}

void WorkQueue::grow() noexcept {
  if (stopping_ || queue_.size() <= idle_ || made_ == most_) return;
  if (!despite_shortage([this] { add_thread(); })) Shortfall::instance().note();
}

bool WorkQueue::post(std::function<void()> work, std::size_t limit) {
  std::unique_lock lock(mutex_);
  if (stopping_) return true;
  if (queue_.size() >= limit) return false;
  queue_.push_back(std::move(work));
  grow();
  lock.unlock();  // or the woken thread would wait for it
  changed_.notify_one();
  return true;
}

void WorkQueue::close(Queued queued) {
  std::deque<std::function<void()>> dropped;  // destroyed without the lock: it may be large
  std::lock_guard lock(mutex_);
  stopping_ = true;
  if (queued == Queued::kDropped) dropped.swap(queue_);
  changed_.notify_all();
}

// Does the work until there is none, or a thread for it.
void WorkQueue::do_queued() {
  std::unique_lock lock(mutex_);
  while (is_starving()) {
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    despite_shortage(work);
    work = nullptr;
    lock.lock();
    grow();
  }
  is_helped_ = false;
  changed_.notify_all();
}

bool WorkQueue::stop(std::chrono::milliseconds limit, Queued queued) {
  close(queued);
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [this] { return !is_helped_; })) return false;
  }
  return threads_.join_for(limit);
}

void WorkQueue::run() {
  CrashStack crash_stack;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    grow();
    lock.unlock();
    despite_shortage(work);
    work = nullptr;
    lock.lock();
  }
}

}  // namespace zazen
