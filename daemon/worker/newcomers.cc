#include "daemon/worker/newcomers.h"

namespace zazen {

bool Newcomers::add(Newcomer newcomer, std::optional<std::size_t> of_a_user) {
  User& user = users_[newcomer.uid];
  std::deque<UniqueFd>& process = user.processes[newcomer.pid];
  if ((of_a_user && user.waiting >= *of_a_user) ||
      (newcomer.pid != 0 && process.size() >= kMostOfAProcess)) {
    if (process.empty()) user.processes.erase(newcomer.pid);
    if (user.waiting == 0) users_.erase(newcomer.uid);
    return false;
  }
  // Without memory nothing has changed.
  std::list<uid_t> turn_of_user(user.waiting == 0 ? 1 : 0, newcomer.uid);
  std::list<pid_t> turn(process.empty() ? 1 : 0, newcomer.pid);
  process.push_back(std::move(newcomer.socket));
  turns_.splice(turns_.end(), turn_of_user);
  user.turns.splice(user.turns.end(), turn);
  ++user.waiting;
  ++size_;
  return true;
}

std::optional<Newcomer> Newcomers::next() {
  if (turns_.empty()) return std::nullopt;
  auto user = users_.find(turns_.front());
  auto process = user->second.processes.find(user->second.turns.front());
  Newcomer newcomer{std::move(process->second.front()), user->first, process->first};
  process->second.pop_front();
  std::list<pid_t>& turns = user->second.turns;
  --size_;
  if (process->second.empty()) {
    user->second.processes.erase(process);
    turns.pop_front();
  } else {
    turns.splice(turns.end(), turns, turns.begin());
  }
  if (--user->second.waiting == 0) {
    users_.erase(user);
    turns_.pop_front();
  } else {
    turns_.splice(turns_.end(), turns_, turns_.begin());
  }
  return newcomer;
}

void Newcomers::dismiss(uid_t uid, pid_t pid) {
  auto user = users_.find(uid);
  if (user == users_.end()) return;
  auto process = user->second.processes.find(pid);
  if (process == user->second.processes.end()) return;
  size_ -= process->second.size();
  user->second.waiting -= process->second.size();
  user->second.processes.erase(process);
  std::erase(user->second.turns, pid);
  if (user->second.waiting > 0) return;
  users_.erase(user);
  std::erase(turns_, uid);
}

}  // namespace zazen
