// DiskHealth: whether the cache's disk can be used at the moment.
//
// The cache goes out of use after an error of the disk itself, such as EIO. It is also out of
// use while an operation takes longer than the limit. Programs then read the origin, and
// nothing is lost. A probe writes, flushes and reads back a small file. The first probe runs at
// once; after a failure the next one follows after 1, 2, 4 ... and at most 30 seconds. The
// first probe that succeeds ends the outage. A full disk is not a failing disk.
//
// A disk may hang without an error. So the cache goes out of use before it is probed, and the
// probe has its own thread. Thread safe.
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

  // Starts the thread, which calls `on_change`.
  void watch(std::function<void(bool usable)> on_change);
  void stop();

  // Notes the result of an operation on the cache's disk. Errors that are not the disk's are
  // ignored.
  void note(int code);
  // "" if the disk is in use, else why it is not.
  std::string problem() const;

  class Operation {  // an operation that waits for the disk; it lasts as long as this object
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
  int suspected_ = 0;                // the last error that was noted and not examined
  std::string problem_;
  std::int64_t pause_ms_ = 0;
  std::int64_t next_probe_ms_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace zazen
