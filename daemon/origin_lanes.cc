#include "daemon/origin_lanes.h"

#include <algorithm>

namespace zazen {

bool OriginLanes::post(std::uint32_t dataset, std::function<void()> work, std::size_t limit) {
  std::lock_guard lock(mutex_);
  if (stopping_) return true;
  auto lane = lanes_.try_emplace(dataset, WorkQueue::OnDemand{threads_for_each_dataset_}).first;
  return lane->second.post(std::move(work), limit);
}

bool OriginLanes::stop(std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [dataset, lane] : lanes_) lane.close(queued_);
  }
  const steady_clock::time_point until = steady_clock::now() + limit;
  bool ended = true;
  for (auto& [dataset, lane] : lanes_) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
    ended = lane.stop(std::max(left, std::chrono::milliseconds(0)), queued_) && ended;
  }
  return ended;
}

}  // namespace zazen
