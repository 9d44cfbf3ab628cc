#include "daemon/committer.h"

#include <algorithm>
#include <iterator>

#include "daemon/crash_report.h"

namespace zazen {
namespace {

template <class T>
std::vector<T> take_first(std::vector<T>& from, std::size_t count) {
  auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<T> taken(std::move_iterator(from.begin()), std::move_iterator(end));
  from.erase(from.begin(), end);
  return taken;
}

}  // namespace

void Committer::enqueue(FinishedCopy copy, std::function<void(int status)> done) {
  {
    std::lock_guard lock(mutex_);
    copies_.push_back(std::move(copy));
    done_.push_back(std::move(done));
  }
  changed_.notify_one();
}

void Committer::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Committer::run() {
  CrashStack crash_stack;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !copies_.empty(); });
    if (copies_.empty()) return;
    std::size_t count = std::min(copies_.size(), kLargestBatch);
    std::vector<FinishedCopy> batch = take_first(copies_, count);
    std::vector<std::function<void(int)>> done = take_first(done_, count);
    lock.unlock();
    store_.publish(batch);
    for (std::size_t i = 0; i < count; ++i) done[i](batch[i].status);
    lock.lock();
  }
}

}  // namespace zazen
