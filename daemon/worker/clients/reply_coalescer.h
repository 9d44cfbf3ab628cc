// ReplyCoalescer: coalesces requests for the same answer. One answer serves all clients that
// wait for it, because a question costs the client more than the worker. A client that asks
// while an answer is being made waits for the next one, so no answer is older than its
// question. Thread safe.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace zazen {

template <class Asked>
class ReplyCoalescer {
 public:
  // Adds a client. Calls `make`, which must lead to begin(), unless an answer is being made. If
  // it throws, no client waits.
  template <class Make>
  void add(std::uint64_t question, const Asked& asked, Make make) {
    std::unique_lock lock(mutex_);
    Waiting& waiting = waiting_[question];
    waiting.asked.push_back(asked);
    if (std::exchange(waiting.is_answered, true)) return;
    lock.unlock();
    try {
      make();
    } catch (...) {
      lock.lock();
      waiting_.erase(question);
      throw;
    }
  }
  // Returns the clients that get the next answer.
  std::vector<Asked> begin(std::uint64_t question) {
    std::lock_guard lock(mutex_);
    return std::exchange(waiting_[question].asked, {});
  }
  // Ends an answer. True: other clients have come, and the caller makes the next one.
  bool end(std::uint64_t question) {
    std::lock_guard lock(mutex_);
    auto waiting = waiting_.find(question);
    if (!waiting->second.asked.empty()) return true;
    waiting_.erase(waiting);
    return false;
  }

 private:
  struct Waiting {
    std::vector<Asked> asked;
    bool is_answered = false;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace zazen
