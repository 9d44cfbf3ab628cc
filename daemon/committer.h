// Committer: group commit (D22). Copies of a dataset that are finished while the disk is busy
// with a flush are published together by the next one; nobody waits for company.
//
// Each dataset has a thread of its own, for a copy is compared with its origin once it has its
// name: a slow origin delays its own dataset's commits.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "daemon/origin_lanes.h"
#include "daemon/store.h"

namespace zazen {

class Committer {
 public:
  static constexpr std::size_t kLargestBatch = 256;

  explicit Committer(Store& store) : store_(store) {}

  // `done` is called on a thread of the committer's with the status of the publication; not any
  // more once it is stopped, when only a thread that an origin held comes here.
  void enqueue(FinishedCopy copy, std::function<void(int status)> done);
  // Commits what is queued, then ends.
  void stop() { threads_.stop(WorkQueue::kForEver); }

 private:
  struct Lane {  // of one dataset
    std::vector<FinishedCopy> copies;
    std::vector<std::function<void(int)>> done;  // one for each of copies
  };
  void commit_all(Lane& lane);
  void publish(std::vector<FinishedCopy>& batch);

  Store& store_;
  std::mutex mutex_;
  std::map<std::uint32_t, Lane> lanes_;
  OriginLanes threads_{1, WorkQueue::Queued::kDone};
};

}  // namespace zazen
