// The directories of ended jobs: <runtime>/jobs/XXXXXX belongs to a rank, which removes it
// when it ends; one that was killed does not.
#pragma once
#include <cstdint>
#include <string>

namespace zazen {

inline constexpr std::int64_t kJobSweepPeriodMs = 10'000;
inline constexpr std::int64_t kOrphanAgeSeconds = 3'600;

// Removes the directories whose owner is dead, and those that are older than
// kOrphanAgeSeconds and have no valid view. Returns how many.
int sweep_jobs(const std::string& jobs_directory);

}  // namespace zazen
