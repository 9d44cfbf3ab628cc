// DiskHealth: whether the cache's disk can be used at the moment.
//
// An error that is the disk's own (EIO and its like), or an operation on it that takes longer
// than the limit, takes the cache out of use: programs read the origin, nothing is lost. Then a
// probe (write, flush, read back a small file) decides: at once, and while it fails again after
// one second, two, and so on up to thirty. A disk that was slow or failed once is back with the
// first probe that succeeds. A full disk is not a failing one.
//
// A disk may hang without an error: so the cache is out of use before it is probed, and the
// thread that probes is a thread of its own. Thread safe.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace zazen {

class DiskHealth {
 public:
  static constexpr std::int64_t kSlowMs = 30'000;
  static constexpr std::int64_t kFirstPauseMs = 1'000, kLongestPauseMs = 30'000;

  using Probe = std::function<int()>;  // 0 or an errno
  explicit DiskHealth(Probe probe, std::int64_t slow_ms = kSlowMs)
      : probe_(std::move(probe)), slow_ms_(slow_ms) {}
  ~DiskHealth() { stop(); }

  // Starts to act upon what it is told. `on_change` is called on its thread.
  void watch(std::function<void(bool usable)> on_change);
  void stop();

  // What an operation on the cache's disk gave. Errors that are not the disk's are ignored.
  void note(int code);
  // "" if it is in use, else why it is not.
  std::string problem() const;

  class Operation {  // something that waits for the disk, as long as it lives
   public:
    explicit Operation(DiskHealth& health);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

   private:
    DiskHealth& health_;
    std::list<std::int64_t>::iterator started_;
  };

 private:
  void run();
  bool is_slow() const;
  void take_out(std::unique_lock<std::mutex>& lock, std::string why);
  void examine(std::unique_lock<std::mutex>& lock);

  const Probe probe_;
  const std::int64_t slow_ms_;
  std::function<void(bool)> on_change_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::int64_t> running_;  // when each operation started, oldest first
  int suspected_ = 0;                // the last error that was noted and not looked at
  std::string problem_;
  std::int64_t pause_ms_ = 0;
  std::int64_t next_probe_ms_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace zazen
