// OriginQuestions: what zazend asks about origins. A worker answers within a limit, or it is as
// if the origin did not answer. The caller waits, so it must be on a thread that serves this
// user, or this dataset's housekeeping, only. Thread safe after start().
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/pool/worker_pool.h"
#include "daemon/store/group_commit.h"
#include "daemon/store/store.h"
#include "daemon/validation/sample.h"

namespace zazen {

class OriginQuestions : public OriginChecks {
 public:
  static constexpr std::chrono::milliseconds kLimit{1000};  // for one look

  explicit OriginQuestions(Store& store) : store_(store) {}
  // Nothing is asked before it.
  void start(WorkerPool& pool) { pool_ = &pool; }

  // A worker that may look at this dataset by itself; 0: there is none.
  WorkerId worker_for(std::uint32_t dataset) const;
  // Compares copies, by one worker, or with 0 by those of the frames' owners.
  CompareAtOrigin comparer(WorkerId worker) const;
  void verify(WorkerId worker, std::span<FinishedCopy> batch) override;
  void mirror(WorkerId worker, std::uint32_t dataset,
              const ReachedDirectories& reached) override;
  // Where all users are served: by the worker of the directory's owner, or by the given one.
  void mirror_rights(std::uint32_t dataset, WorkerId worker);
  void mirror_rights_of_names(std::uint32_t dataset);
  std::vector<OriginLook> look_at(WorkerId worker, std::uint32_t dataset,
                                  const std::vector<ContentToLook>& contents) const;

 private:
  Store& store_;
  WorkerPool* pool_ = nullptr;
};

}  // namespace zazen
