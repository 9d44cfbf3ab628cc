// OriginThreads: a few threads for each dataset, for what a server that has stopped would hold
// up for ever: a stat of its files, the close of a descriptor (which FUSE reports to its
// server).
//
// Who may not be held up asks here and waits up to a limit. A single file that hangs takes one
// thread, and the next question has another; while as many questions are overdue as there may
// be threads, others of the same dataset are refused at once. Other datasets do not notice.
// Thread safe.
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
  static constexpr std::size_t kThreads = 4;

  explicit OriginThreads(std::size_t threads_for_each_dataset = kThreads)
      : threads_for_each_dataset_(threads_for_each_dataset) {}
  ~OriginThreads() { stop(kForEver); }

  // 0 or the errno that `question` returns, ETIMEDOUT if it does not answer in time. It may
  // outlive the call: it owns what it uses.
  int ask(std::uint32_t dataset, std::function<int()> question,
          std::chrono::milliseconds limit);
  void close(std::uint32_t dataset, UniqueFd fd);
  // It is closed so when the last one lets go of it.
  std::shared_ptr<const UniqueFd> share(std::uint32_t dataset, UniqueFd fd);
  // False: a thread is caught.
  bool stop(std::chrono::milliseconds limit);

 private:
  static constexpr std::chrono::hours kForEver{24};
  struct Lane {
    std::deque<std::function<void()>> queue;
    std::size_t threads = 0, idle = 0;
    std::size_t overdue = 0;  // questions that have timed out and are not answered yet
    std::condition_variable changed;
  };
  void post(Lane& lane, std::size_t most_threads,
            std::function<void()> work);  // mutex_ is held
  void run(Lane& lane);

  const std::size_t threads_for_each_dataset_;
  std::mutex mutex_;
  std::map<std::uint32_t, Lane> lanes_;
  bool stopping_ = false;
  WorkerThreads threads_;
};

}  // namespace zazen
