#include "daemon/threads/connection_closer.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "daemon/process/shortage.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace zazen {
namespace {

constexpr int kInterruption = SIGUSR2;

// Without a timer, which the system may refuse, the close may block.
void close_interruptibly(UniqueFd connection) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kInterruption;
  event.sigev_notify_thread_id = ::gettid();
  timer_t timer;
  const bool has_timer = ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
  if (has_timer) {
    using std::chrono::nanoseconds;
    const timespec period = {0, nanoseconds(ConnectionCloser::kInterrupt).count()};
    const itimerspec again = {period, period};
    ::timer_settime(timer, 0, &again, nullptr);
  }
  connection.reset();
  if (has_timer) ::timer_delete(timer);
}

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
  if (connection.valid()) close_interruptibly(std::move(connection));
}

void ConnectionCloser::close_waiting(uid_t uid) {
  std::unique_lock lock(mutex_);
  User& user = users_.at(uid);
  while (!user.waiting.empty()) {
    UniqueFd connection = std::move(user.waiting.front());
    user.waiting.pop_front();
    lock.unlock();
    close_interruptibly(std::move(connection));
    lock.lock();
  }
  if (--user.threads == 0) users_.erase(uid);
}

bool ConnectionCloser::stop(std::chrono::milliseconds limit) {
  return threads_.stop(limit, WorkQueue::Queued::kDone);
}

}  // namespace zazen
