// Outbox: answers on their way from the working threads to the thread that serves the
// clients. An eventfd wakes it. Thread safe.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "daemon/packet.h"

namespace zazen {

class Outbox {
 public:
  Outbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int event_fd() const { return event_.get(); }

  void post(Answer answer) {
    {
      std::lock_guard lock(mutex_);
      answers_.push_back(std::move(answer));
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

 private:
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<Answer> answers_;
};

}  // namespace zazen
