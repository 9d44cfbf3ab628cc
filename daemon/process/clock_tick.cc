#include "daemon/process/clock_tick.h"

#include <chrono>
#include <thread>

namespace zazen {
namespace {

using std::chrono::milliseconds;
using Time = std::chrono::sys_time<std::chrono::nanoseconds>;

milliseconds grain_of(Time time) {
  constexpr milliseconds kTick(20), kCoarseTick(2000);
  return time == std::chrono::floor<std::chrono::seconds>(time) ? kCoarseTick : kTick;
}

}  // namespace

void outwait_clock(const timespec& time, const std::function<bool()>& give_up) {
  constexpr milliseconds kPause(5);
  const Time written = std::chrono::sys_seconds(std::chrono::seconds(time.tv_sec)) +
                       std::chrono::nanoseconds(time.tv_nsec);
  const milliseconds grain = grain_of(written);
  const Time until = written + grain;
  auto now = std::chrono::system_clock::now();
  if (now + grain < until) return;  // another machine's clock, ahead of ours
  for (; now < until && !give_up(); now = std::chrono::system_clock::now()) {
    std::this_thread::sleep_for(kPause);
  }
}

bool is_tick_over(std::int64_t time_ns) {
  const Time written{std::chrono::nanoseconds(time_ns)};
  const milliseconds grain = grain_of(written);
  const auto now = std::chrono::system_clock::now();
  return now >= written + grain || now + grain < written;  // another machine's clock
}

}  // namespace zazen
