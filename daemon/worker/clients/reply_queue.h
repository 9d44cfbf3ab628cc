// ReplyQueue: answers on their way from the working threads to the thread that serves the
// clients. An eventfd wakes it. An answer for which there is no memory is lost. That is noted,
// and the clients that wait are closed. Thread safe.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "daemon/process/shortage.h"
#include "daemon/worker/clients/packet.h"

namespace zazen {

class ReplyQueue {
 public:
  ReplyQueue() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int event_fd() const { return event_.get(); }

  void post(Answer answer) noexcept {
    {
      std::lock_guard lock(mutex_);
      if (!despite_shortage([&] { answers_.push_back(std::move(answer)); })) has_lost_ = true;
    }
    wake();
  }
  void wake() { ::eventfd_write(event_.get(), 1); }

  std::vector<Answer> take() {
    eventfd_t count = 0;
    ::eventfd_read(event_.get(), &count);
    std::lock_guard lock(mutex_);
    return std::exchange(answers_, {});
  }
  // True if an answer was lost since the last call.
  bool has_lost() {
    std::lock_guard lock(mutex_);
    return std::exchange(has_lost_, false);
  }

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<Answer> answers_;
  bool has_lost_ = false;
};

}  // namespace zazen
