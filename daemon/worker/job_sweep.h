// The directories of ended jobs: <runtime>/jobs/XXXXXX belongs to a rank
// (bodhi/lean/frames/view.h) or to a job under `zazenctl run` (bodhi/lean/run/run_record.h),
// which moves it to <runtime>/reports when it ends; for one that was killed the worker of its
// user does. There `zazenctl report` finds what it did, for a while. All here is about this
// user's only.
#pragma once
#include <cstdint>
#include <string>

namespace zazen {

inline constexpr std::int64_t kOrphanAgeSeconds = 3'600;

// Takes away the directories whose owner is dead, to the reports if there is a directory for them,
// and those that are older than kOrphanAgeSeconds and tell of no owner.
// Returns how many.
int sweep_jobs(const std::string& jobs_directory, const std::string& reports_directory);

// The runtime directory is in memory on most machines, so the reports are bounded, too: what
// ranks write into them. Each user who has reports has an even share, so nobody's push out
// another's. What else a user puts there goes with its report and is not counted, nor is a
// user's newest report if it is beyond the limit.
struct ReportLimits {
  std::int64_t age_seconds = 7 * 86'400;
  std::uint64_t bytes = 64'000'000;
  std::uint64_t ranks = 4'096;
};
// Removes this user's beyond the limits, the newest only for its age; and what is no directory.
// Returns how many reports.
int prune_reports(const std::string& reports_directory, const ReportLimits& limits = {});

}  // namespace zazen
