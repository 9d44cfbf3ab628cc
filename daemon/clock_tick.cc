#include "daemon/clock_tick.h"

#include <chrono>
#include <thread>

namespace zazen {

void outwait_clock(const timespec& time, const std::function<bool()>& give_up) {
  using std::chrono::milliseconds;
  constexpr milliseconds kTick(20), kCoarseTick(2000), kPause(5);
  const milliseconds grain = time.tv_nsec == 0 ? kCoarseTick : kTick;
  auto until = std::chrono::sys_seconds(std::chrono::seconds(time.tv_sec)) +
               std::chrono::nanoseconds(time.tv_nsec) + grain;
  auto now = std::chrono::system_clock::now();
  if (now + grain < until) return;  // another machine's clock, ahead of ours
  for (; now < until && !give_up(); now = std::chrono::system_clock::now()) {
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace zazen
