// Measures the cost of a seek on the cache's disk, by reads of its copies that bypass the page
// cache. The attribute `rotational` of many virtual disks is wrong.
#pragma once
#include <optional>
#include <vector>

#include "daemon/store/store.h"

namespace zazen {

// In milliseconds, for single reads of 4 KB.
struct ReadTimes {
  std::vector<double> random;      // at random places of random copies
  std::vector<double> sequential;  // each where a random one ended
};

// Two dozen reads of each kind, or as many as 200 ms allow. There are fewer if no copies are
// large enough, or if the file system has no direct reads.
ReadTimes time_reads(const Store& store);

// The extra time of a random read over a sequential one, by their lower quartiles: a busy
// machine delays many reads. Nothing if there are too few reads.
std::optional<double> seek_cost_ms(ReadTimes times);

inline constexpr double kExpensiveSeekMs = 2;  // a spinning disk takes 5 to 15, flash 0.1

}  // namespace zazen
