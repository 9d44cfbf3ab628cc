// What a seek costs on the cache's disk, by reads of its copies past the page cache. A disk's own
// word on it (`rotational`) is wrong of many virtual disks.
#pragma once
#include <optional>
#include <vector>

#include "daemon/store/store.h"

namespace zazen {

// In milliseconds, of single reads of 4 KB.
struct ReadTimes {
  std::vector<double> random;      // at random places of random copies
  std::vector<double> sequential;  // each where a random one ended
};

// Two dozen of each, or as many as 200 ms allow; fewer if there are no copies that are large
// enough, or the file system has no direct reads.
ReadTimes time_reads(const Store& store);

// By how much a random read takes longer than a sequential one, by their lower quartiles: a busy
// machine delays many reads, and hastens none. Nothing if there are too few to tell.
std::optional<double> seek_cost_ms(ReadTimes times);

inline constexpr double kExpensiveSeekMs = 2;  // a spinning disk takes 5 to 15, flash 0.1

}  // namespace zazen
