// OriginThreads: a few threads for each dataset, for what a server that has stopped would hold
// up for ever: a stat of its files, the close of a descriptor (which FUSE reports to its
// server). Closes have a thread of their own, so that they delay no question.
//
// Who may not be held up asks here and waits up to a limit. A single file that hangs takes one
// thread, and the next question has another; while as many questions are overdue as there may
// be threads, others of the same dataset are refused at once. Other datasets do not notice.
// Thread safe.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "bodhi/unique_fd.h"
#include "daemon/origin_lanes.h"

namespace zazen {

class OriginThreads {
 public:
  static constexpr std::size_t kThreads = 4;

  explicit OriginThreads(std::size_t threads_for_each_dataset = kThreads)
      : threads_for_each_dataset_(threads_for_each_dataset),
        questions_(threads_for_each_dataset, WorkQueue::Queued::kDone) {}

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
  const std::size_t threads_for_each_dataset_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::size_t> overdue_;  // timed out and not answered yet, by dataset
  bool stopping_ = false;
  OriginLanes questions_;
  OriginLanes closes_{1, WorkQueue::Queued::kDone};
};

}  // namespace zazen
