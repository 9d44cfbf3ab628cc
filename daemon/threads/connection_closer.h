// ConnectionCloser: closes clients' connections for zazend, on threads of its own.
//
// A client may have sent descriptors that nobody has received. Closing the connection closes
// them, and that can block: a TCP socket with SO_LINGER waits until its data is sent. The
// kernel ends that wait at a signal, so a timer interrupts the closing thread every kInterrupt.
// One interruption counts for all sockets of a connection. Nothing interrupts the close of a
// file whose FUSE mount caches writes and whose server does not answer.
//
// A user's connections take at most kThreadsOfAUser threads; the user's other connections wait.
// Each of them holds a descriptor: whoever accepts connections pauses while is_behind().
// Thread safe.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <deque>
#include <map>
#include <mutex>

#include "bodhi/common/unique_fd.h"
#include "daemon/threads/work_queue.h"

namespace zazen {

class ConnectionCloser {
 public:
  static constexpr std::size_t kThreadsOfAUser = 2;
  static constexpr std::size_t kMostWaiting = 2'048;  // of a user
  static constexpr std::chrono::microseconds kInterrupt{200};

  ConnectionCloser();

  // Returns at once. If the system refuses memory, the caller's thread closes the connection.
  void close(uid_t uid, UniqueFd connection) noexcept;
  // More than kMostWaiting connections of a user wait, and they are being closed. A user whose
  // threads are blocked does not count: nobody would be accepted any more.
  bool is_behind();
  // Closes all connections that wait. False: a thread is still blocked when the limit has
  // passed.
  bool stop(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  struct User {
    std::deque<UniqueFd> waiting;
    std::size_t threads = 0;
    Clock::time_point closed_at = {};  // the last one
  };

  void close_waiting(uid_t uid);

  std::mutex mutex_;
  std::map<uid_t, User> users_;  // that have connections to close
  WorkQueue threads_{WorkQueue::OnDemand{WorkQueue::kAnyNumber}};
};

}  // namespace zazen
