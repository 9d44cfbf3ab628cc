// OriginThreads: one thread for each dataset, for what a server that has stopped would hold up
// for ever: a stat of its files, the close of a descriptor (which FUSE reports to its server).
//
// Who may not be held up asks here and waits up to a limit. While a question is overdue, others
// of the same dataset are refused at once; other datasets do not notice. Thread safe.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "bodhi/unique_fd.h"
#include "bodhi/worker_threads.h"

namespace zazen {

class OriginThreads {
 public:
  ~OriginThreads() { stop(kForEver); }

  // 0 or the errno that `question` returns, ETIMEDOUT if it does not answer in time. It may
  // outlive the call: it owns what it uses.
  int ask(std::uint32_t dataset, std::function<int()> question,
          std::chrono::milliseconds limit);
  void close(std::uint32_t dataset, UniqueFd fd);
  // False: a thread is caught.
  bool stop(std::chrono::milliseconds limit);

 private:
  static constexpr std::chrono::hours kForEver{24};
  struct Lane {
    std::deque<std::function<void()>> queue;
    bool overdue = false;  // a question has timed out, and nothing was answered since
    std::condition_variable changed;
  };
  Lane& lane(std::uint32_t dataset);  // mutex_ is held
  void run(Lane& lane);

  std::mutex mutex_;
  std::map<std::uint32_t, Lane> lanes_;
  bool stopping_ = false;
  WorkerThreads threads_;
};

}  // namespace zazen
