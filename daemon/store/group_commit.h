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

class OriginChecks {  // what a worker does at the origins of copies
 public:
  virtual ~OriginChecks() = default;
  // The copies of this worker have their names: those whose origin is another one by now get a
  // status.
  virtual void verify(std::uint64_t worker, std::span<FinishedCopy> batch) = 0;
  // Where all users are served: the cache's directories should have the rights of these.
  virtual void mirror(std::uint64_t worker, std::uint32_t dataset,
                      const ReachedDirectories& reached) = 0;
};

class GroupCommit {
 public:
  static constexpr std::size_t kLargestBatch = 256;

  GroupCommit(Store& store, OriginChecks& origins) : store_(store), origins_(origins) {}
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
  OriginChecks& origins_;
  std::mutex mutex_;
  std::map<std::uint64_t, Lane> lanes_;
  WorkQueue threads_{WorkQueue::OnDemand{WorkQueue::kAnyNumber}};
};

}  // namespace zazen
