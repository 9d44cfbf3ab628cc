// FirstLook: what tells nearly every path of a program from a frame's, in one cache line: the
// bytes that the names of frames end in. It is asked before anything else, and when it says no,
// nothing else is.
//
// As long as the daemon whose datasets it knows says that it serves, the answer holds.
// Otherwise every path may be a frame: it may be time to look for a daemon. A shim that is not
// active never looks.
#pragma once
#include <atomic>
#include <cstring>

#include "bodhi/table.h"
#include "preload/hook.h"

namespace zazen {

class alignas(64) FirstLook {
 public:
  constexpr explicit FirstLook(const std::atomic<DaemonState>* state) : state_(state) {}

  void add(const FrameName& name) {
    if (char byte = name.last_byte(); byte != '\0') {
      set(byte);
    } else {
      for (char digit = '0'; digit <= '9'; ++digit) set(digit);
    }
  }
  void trust(const std::atomic<DaemonState>* state) {
    state_.store(state, std::memory_order_release);
  }

  // False: no frame, by its text alone. Null and "" are none.
  bool may_be_frame(const char* path) const {
    if (!may_be_string(path)) return false;
    std::size_t length = std::strlen(path);
    if (length == 0) return false;
    unsigned char last = static_cast<unsigned char>(path[length - 1]);
    return (ends_[last / 64].load(std::memory_order_relaxed) >> (last % 64) & 1) != 0 ||
           state_.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) !=
               DaemonState::kServing;
  }

 private:
  void set(char byte) {
    unsigned char bit = static_cast<unsigned char>(byte);
    ends_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> ends_[4] = {};
  std::atomic<const std::atomic<DaemonState>*> state_;
};

extern FirstLook first_look;
// What first_look trusts before it knows a daemon.
extern const std::atomic<DaemonState> kNobodyServes;

}  // namespace zazen
