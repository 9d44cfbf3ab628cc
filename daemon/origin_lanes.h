// OriginLanes: a WorkQueue for each dataset, for work that waits for the dataset's origin. An
// origin that does not answer delays its own dataset and no other.
//
// A lane begins with its first work. Thread safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "daemon/work_queue.h"

namespace zazen {

class OriginLanes {
 public:
  static constexpr std::size_t kLongestQueue = 1'024;

  // `queued`: what becomes of queued work at the stop.
  explicit OriginLanes(std::size_t threads_for_each_dataset,
                       WorkQueue::Queued queued = WorkQueue::Queued::kDropped)
      : threads_for_each_dataset_(threads_for_each_dataset), queued_(queued) {}
  ~OriginLanes() { stop(WorkQueue::kForEver); }

  // False: so many of this dataset wait already. After stop() it is dropped.
  bool post(std::uint32_t dataset, std::function<void()> work,
            std::size_t limit = kLongestQueue);
  // Waits for what runs, up to one limit for all. False: a thread is caught.
  bool stop(std::chrono::milliseconds limit);

 private:
  const std::size_t threads_for_each_dataset_;
  const WorkQueue::Queued queued_;
  std::mutex mutex_;
  std::map<std::uint32_t, WorkQueue> lanes_;
  bool stopping_ = false;
};

}  // namespace zazen
