// Ticks of the clock: two writes in the same tick leave the same times.
#pragma once
#include <time.h>

#include <cstdint>
#include <functional>

namespace zazen {

// Waits until the tick of that time is over, so that every later write leaves another time.
void outwait_clock(const timespec& time, const std::function<bool()>& give_up);

// True if a write at this moment has another time than this one, in nanoseconds since 1970.
bool is_tick_over(std::int64_t time_ns);

}  // namespace zazen
