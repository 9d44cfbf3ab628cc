// A write in the same tick of the clock as the last one leaves the same times.
#pragma once
#include <time.h>

#include <functional>

namespace zazen {

// Waits until the tick of that time is over, so that whatever is written afterwards is seen by
// its time.
void outwait_clock(const timespec& time, const std::function<bool()>& give_up);

}  // namespace zazen
