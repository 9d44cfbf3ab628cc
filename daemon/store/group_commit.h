// GroupCommit: group commit (D22). Copies of a worker that are finished while the disk is busy
// with a flush are published together by the next one; nobody waits for company.
//
// Each worker has a thread of its own, for a copy is compared with its origin once it has its
// name: a worker that does not answer delays its own commits.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "daemon/store/store.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

class GroupCommit {
 public:
  static constexpr std::size_t kLargestBatch = 256;
  // Looks at the origins again, once the copies of a worker have their names.
  using Verify = std::function<void(std::uint64_t worker, std::span<FinishedCopy> batch)>;

  GroupCommit(Store& store, Verify verify) : store_(store), verify_(std::move(verify)) {}
  ~GroupCommit() { stop(); }

  // `done` is called on a thread of the committer's with the status of the publication.
  void enqueue(std::uint64_t worker, FinishedCopy copy, std::function<void(int status)> done);
  // Commits what is queued, then ends.
  void stop();

 private:
  struct Lane {  // of one worker, while there is something to commit
    std::vector<FinishedCopy> copies;
    std::vector<std::function<void(int)>> done;  // one for each of copies
  };
  void commit_all(std::uint64_t worker);
  void publish(std::uint64_t worker, std::vector<FinishedCopy>& batch);

  Store& store_;
  const Verify verify_;
  std::mutex mutex_;
  std::map<std::uint64_t, Lane> lanes_;
  WorkQueue threads_{WorkQueue::OnDemand{WorkQueue::kAnyNumber}};
};

}  // namespace zazen
