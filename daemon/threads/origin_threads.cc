#include "daemon/threads/origin_threads.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace zazen {

bool OriginThreads::post(std::uint32_t dataset, std::function<void()> work, std::size_t limit) {
  std::lock_guard lock(mutex_);
  if (stopping_) return true;
  const auto use = uses_.try_emplace(dataset).first;
  if (use->second.works == 0) use->second.lane = least_used_lane();
  const std::size_t lane = use->second.lane;
  WorkQueue& queue =
      lanes_.try_emplace(lane, WorkQueue::OnDemand{threads_for_each_lane_}).first->second;
  const bool is_posted = queue.post(
      [this, dataset, work = std::move(work)] {
        // The work is counted as done in every case.
        const std::unique_ptr<OriginThreads, std::function<void(OriginThreads*)>> ended(
            this, [dataset](OriginThreads* lanes) { lanes->end_work(dataset); });
        work();
      },
      limit);
  if (is_posted) ++use->second.works;
  if (use->second.works == 0) uses_.erase(use);
  return is_posted;
}

std::size_t OriginThreads::least_used_lane() const {
  std::vector<std::size_t> datasets(most_lanes_);
  for (const auto& [dataset, use] : uses_) datasets[use.lane] += use.works > 0 ? 1 : 0;
  const auto least = std::ranges::min_element(datasets);
  return static_cast<std::size_t>(least - datasets.begin());
}

void OriginThreads::end_work(std::uint32_t dataset) {
  std::lock_guard lock(mutex_);
  const auto use = uses_.find(dataset);
  if (--use->second.works == 0) uses_.erase(use);
}

bool OriginThreads::stop(std::chrono::milliseconds limit) {
  using std::chrono::steady_clock;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [number, lane] : lanes_) lane.close(queued_);
  }
  const steady_clock::time_point until = steady_clock::now() + limit;
  bool ended = true;
  for (auto& [number, lane] : lanes_) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now());
    ended = lane.stop(std::max(left, std::chrono::milliseconds(0)), queued_) && ended;
  }
  return ended;
}

}  // namespace zazen
