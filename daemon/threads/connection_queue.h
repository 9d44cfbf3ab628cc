// ConnectionQueue: connections of one user that wait for their turn. The processes take turns, so
// a process that connects without end waits behind itself. At the limit the process that has
// most connections waiting loses its newest.
//
// zazend has one for each worker, and the worker has one for its server. Not thread safe.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <list>
#include <map>

#include "bodhi/common/unique_fd.h"

namespace zazen {

class ConnectionQueue {
 public:
  static constexpr std::size_t kMostOfAProcess = 512;

  explicit ConnectionQueue(std::size_t limit) : limit_(limit) {}

  // Returns the connection that has no place, for the caller to close; not valid: all have one.
  // With pid 0 the process is not to be seen from here. Without memory nothing has changed.
  [[nodiscard]] UniqueFd add(UniqueFd& socket, pid_t pid);
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The next in turn, which pop() removes. There must be one.
  struct Front {
    UniqueFd& socket;
    pid_t pid;
  };
  Front front();
  void pop();
  // Closes all that wait of a process.
  void drop(pid_t pid);

 private:
  const std::size_t limit_;
  std::map<pid_t, std::deque<UniqueFd>> processes_;  // each with at least one
  std::list<pid_t> turns_;
  std::size_t size_ = 0;
};

}  // namespace zazen
