#include "daemon/origin_lanes.h"

#include <algorithm>

namespace zazen {

bool OriginLanes::post(std::uint32_t dataset, std::function<void()> work) {
  std::lock_guard lock(mutex_);
  if (stopping_) return true;
  WorkQueue& lane = lanes_.try_emplace(dataset, threads_for_each_dataset_).first->second;
  return lane.post_within(kLongestQueue, std::move(work));
}

bool OriginLanes::stop(std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [dataset, lane] : lanes_) lane.close();
  }
  const steady_clock::time_point until = steady_clock::now() + limit;
  bool ended = true;
  for (auto& [dataset, lane] : lanes_) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
    ended = lane.stop(std::max(left, std::chrono::milliseconds(0))) && ended;
  }
  return ended;
}

}  // namespace zazen
