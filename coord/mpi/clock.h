// Wall time in seconds, for time limits and for protocol_seconds.
#pragma once
#include <ctime>

namespace zazen {

inline double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace zazen
