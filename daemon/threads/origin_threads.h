// OriginThreads: a WorkQueue for each dataset, for work that waits for the dataset's origin. An
// origin that does not answer delays its own dataset and no other.
//
// A lane starts with its first work. Where the number of lanes is bounded, two datasets share a
// lane only if more datasets than lanes have work at the same time. Thread safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "bodhi/lean/system/base_types.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

class OriginThreads {
 public:
  static constexpr std::size_t kLongestQueue = 1'024;

  // `queued` says what happens to queued work at the stop.
  explicit OriginThreads(std::size_t threads_for_each_lane,
                         WorkQueue::Queued queued = WorkQueue::Queued::kDropped,
                         std::size_t most_lanes = kMaxDatasets)
      : threads_for_each_lane_(threads_for_each_lane),
        queued_(queued),
        most_lanes_(most_lanes) {}
  ~OriginThreads() { stop(WorkQueue::kForEver); }

  // False: the lane's queue has reached its limit. Work that is posted after stop() is dropped.
  bool post(std::uint32_t dataset, std::function<void()> work,
            std::size_t limit = kLongestQueue);
  // Waits for running work, up to one limit for all lanes. False: a thread is blocked.
  bool stop(std::chrono::milliseconds limit);

 private:
  struct Use {
    std::size_t lane = 0;
    std::size_t works = 0;  // queued or under way
  };
  std::size_t least_used_lane() const;  // mutex_ is held
  void end_work(std::uint32_t dataset);

  const std::size_t threads_for_each_lane_;
  const WorkQueue::Queued queued_;
  const std::size_t most_lanes_;
  std::mutex mutex_;
  std::map<std::uint32_t, Use> uses_;  // by dataset that has work
  std::map<std::size_t, WorkQueue> lanes_;
  bool stopping_ = false;
};

}  // namespace zazen
