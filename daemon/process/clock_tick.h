// A write in the same tick of the clock as the last one leaves the same times.
#pragma once
#include <time.h>

#include <cstdint>
#include <functional>

namespace zazen {

// Waits until the tick of that time is over, so that whatever is written afterwards is seen by
// its time.
void outwait_clock(const timespec& time, const std::function<bool()>& give_up);

// A write from now on has another time than this one, in nanoseconds since 1970.
bool is_tick_over(std::int64_t time_ns);

}  // namespace zazen
