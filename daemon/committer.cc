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
  std::lock_guard lock(mutex_);
  if (stopping_) return;
  auto [it, is_new] = lanes_.try_emplace(copy.dataset);
  Lane& lane = it->second;
  if (is_new) lane.thread = std::thread([this, &lane] { run(lane); });
  lane.copies.push_back(std::move(copy));
  lane.done.push_back(std::move(done));
  lane.changed.notify_one();
}

void Committer::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [dataset, lane] : lanes_) lane.changed.notify_one();
  }
  for (auto& [dataset, lane] : lanes_) {
    if (lane.thread.joinable()) lane.thread.join();
  }
}

void Committer::run(Lane& lane) {
  CrashStack crash_stack;
  std::unique_lock lock(mutex_);
  for (;;) {
    lane.changed.wait(lock, [&] { return stopping_ || !lane.copies.empty(); });
    if (lane.copies.empty()) return;
    std::size_t count = std::min(lane.copies.size(), kLargestBatch);
    std::vector<FinishedCopy> batch = take_first(lane.copies, count);
    std::vector<std::function<void(int)>> done = take_first(lane.done, count);
    lock.unlock();
    store_.publish(batch);
    for (std::size_t i = 0; i < count; ++i) done[i](batch[i].status);
    lock.lock();
  }
}

}  // namespace zazen
