#include "daemon/threads/connection_queue.h"

#include <algorithm>
#include <utility>

namespace zazen {

UniqueFd ConnectionQueue::add(UniqueFd& socket, pid_t pid) {
  const auto known = processes_.find(pid);
  const std::size_t waiting = known == processes_.end() ? 0 : known->second.size();
  if (pid != 0 && waiting >= kMostOfAProcess) return std::move(socket);
  auto most = std::ranges::max_element(
      processes_, {}, [](const auto& process) { return process.second.size(); });
  const bool is_full = size_ >= limit_;
  if (is_full && (most == processes_.end() || waiting + 1 >= most->second.size())) {
    return std::move(socket);
  }
  if (waiting == 0) {
    std::list<pid_t> turn(1, pid);
    processes_[pid].push_back(std::move(socket));
    turns_.splice(turns_.end(), turn);
  } else {
    known->second.push_back(std::move(socket));
  }
  if (!is_full) {
    ++size_;
    return {};
  }
  UniqueFd newest = std::move(most->second.back());  // the process keeps at least one
  most->second.pop_back();
  return newest;
}

ConnectionQueue::Front ConnectionQueue::front() {
  const auto process = processes_.find(turns_.front());
  return {process->second.front(), process->first};
}

void ConnectionQueue::pop() {
  const auto process = processes_.find(turns_.front());
  process->second.pop_front();
  --size_;
  if (process->second.empty()) {
    processes_.erase(process);
    turns_.pop_front();
  } else {
    turns_.splice(turns_.end(), turns_, turns_.begin());
  }
}

void ConnectionQueue::drop(pid_t pid) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  size_ -= process->second.size();
  processes_.erase(process);
  std::erase(turns_, pid);
}

}  // namespace zazen
