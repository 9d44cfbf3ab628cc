// OriginLanes: a queue and a few threads for each dataset, for work that waits for the
// dataset's origin. One that does not answer holds up the lane of its dataset and no other's.
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

  explicit OriginLanes(int threads_for_each_dataset)
      : threads_for_each_dataset_(threads_for_each_dataset) {}
  ~OriginLanes() { stop(WorkQueue::kForEver); }

  // False: kLongestQueue of this dataset wait already. After stop() it is dropped.
  bool post(std::uint32_t dataset, std::function<void()> work);
  // Waits for what runs, up to one limit for all; what is queued is dropped. False: a thread is
  // caught.
  bool stop(std::chrono::milliseconds limit);

 private:
  const int threads_for_each_dataset_;
  std::mutex mutex_;
  std::map<std::uint32_t, WorkQueue> lanes_;
  bool stopping_ = false;
};

}  // namespace zazen
