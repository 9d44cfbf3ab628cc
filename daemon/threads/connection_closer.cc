#include "daemon/threads/connection_closer.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/process/shortage.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace zazen {
namespace {

constexpr int kInterruption = SIGUSR2;

// A user none of whose connections was closed for so long has threads that block.
constexpr std::chrono::milliseconds kBlocked{50};

// Interrupts this thread again and again. Without a timer, which the system may refuse, a close
// may block.
class Interruptions {
 public:
  Interruptions() {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kInterruption;
    event.sigev_notify_thread_id = ::gettid();
    has_timer_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    if (!has_timer_) return;
    using std::chrono::nanoseconds;
    const timespec period = {0, nanoseconds(ConnectionCloser::kInterrupt).count()};
    const itimerspec again = {period, period};
    ::timer_settime(timer_, 0, &again, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions() {
    if (has_timer_) ::timer_delete(timer_);
  }

 private:
  timer_t timer_ = {};
  bool has_timer_ = false;
};

}  // namespace

ConnectionCloser::ConnectionCloser() {
  struct sigaction interrupt = {};
  interrupt.sa_handler = [](int) {};  // an ignored signal interrupts nothing
  ::sigaction(kInterruption, &interrupt, nullptr);
}

void ConnectionCloser::close(uid_t uid, UniqueFd connection) noexcept {
  if (!connection.valid()) return;
  despite_shortage([&] {
    std::lock_guard lock(mutex_);
    User& user = users_[uid];
    user.waiting.push_back(std::move(connection));
    if (user.threads == kThreadsOfAUser) return;
    // If the work cannot be posted, these connections wait for the user's next one.
    threads_.post([this, uid] { close_waiting(uid); });
    ++user.threads;
  });
  if (!connection.valid()) return;
  const Interruptions interruptions;
  connection.reset();
}

bool ConnectionCloser::is_behind() {
  const Clock::time_point now = Clock::now();
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(users_, [&](const auto& one) {
    const User& user = one.second;
    return user.waiting.size() > kMostWaiting && now - user.closed_at < kBlocked;
  });
}

void ConnectionCloser::close_waiting(uid_t uid) {
  const Interruptions interruptions;
  std::unique_lock lock(mutex_);
  User& user = users_.at(uid);
  while (!user.waiting.empty()) {
    UniqueFd connection = std::move(user.waiting.front());
    user.waiting.pop_front();
    lock.unlock();
    connection.reset();
    lock.lock();
    user.closed_at = Clock::now();
  }
  if (--user.threads == 0) users_.erase(uid);
}

bool ConnectionCloser::stop(std::chrono::milliseconds limit) {
  return threads_.stop(limit, WorkQueue::Queued::kDone);
}

}  // namespace zazen
