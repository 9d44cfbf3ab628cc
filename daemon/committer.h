// Committer: group commit (D22). Copies that are finished while the disk is busy with a
// flush are published together by the next one; nobody waits for company.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "daemon/store.h"

namespace zazen {

class Committer {
 public:
  static constexpr std::size_t kLargestBatch = 256;

  explicit Committer(Store& store) : store_(store), thread_([this] { run(); }) {}
  ~Committer() { stop(); }

  // `done` is called on the committer's thread with the status of the publication.
  void enqueue(FinishedCopy copy, std::function<void(int status)> done);
  // Commits what is queued, then ends.
  void stop();

 private:
  void run();

  Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FinishedCopy> copies_;
  std::vector<std::function<void(int)>> done_;  // one for each of copies_
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace zazen
