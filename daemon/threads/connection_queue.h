// ConnectionQueue: connections of one user that wait to be served. The processes take turns, so
// a process that connects in a loop delays only itself. At the limit the process that has most
// connections in the queue loses its newest.
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

  // Returns the connection that finds no place, for the caller to close; not valid: all have
  // one. Pid 0 stands for a process that is not visible from here. A failed allocation changes
  // nothing.
  [[nodiscard]] UniqueFd add(UniqueFd& socket, pid_t pid);
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The next connection, which pop() removes. There must be one.
  struct Front {
    UniqueFd& socket;
    pid_t pid;
  };
  Front front();
  void pop();
  // Closes all connections of a process in the queue.
  void drop(pid_t pid);

 private:
  const std::size_t limit_;
  std::map<pid_t, std::deque<UniqueFd>> processes_;  // each with at least one
  std::list<pid_t> turns_;
  std::size_t size_ = 0;
};

}  // namespace zazen
