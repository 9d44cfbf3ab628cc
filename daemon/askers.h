// Askers: who waits for the same answer. It is found once for all of them, however many ask: a
// question costs the asker more than the daemon. Who asks while an answer is being made waits
// for the next one, so no answer is older than its question. Thread safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace zazen {

template <class Asked>
class Askers {
 public:
  // For the first of them `post` has the answer made, by somebody who will take() them. If it
  // returns false, or throws, this one does not wait. Returns what `post` does, or true.
  template <class Post>
  bool add(std::uint64_t question, const Asked& asked, Post post) {
    std::lock_guard lock(mutex_);
    std::vector<Asked>& waiting = waiting_[question];
    if (waiting.empty()) waiting.reserve(1);  // so that nothing fails after `post`
    if (waiting.empty() && !post()) return false;
    waiting.push_back(asked);
    return true;
  }
  std::vector<Asked> take(std::uint64_t question) {
    std::lock_guard lock(mutex_);
    return std::exchange(waiting_[question], {});
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<Asked>> waiting_;
};

}  // namespace zazen
