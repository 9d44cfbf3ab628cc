// Directories of ended jobs. <runtime>/jobs/XXXXXX belongs to a rank (bodhi/lean/frames/view.h)
// or to a job under `zazenctl run` (bodhi/lean/run/run_record.h). The job moves it to
// <runtime>/reports at its end; for a killed job the worker of its user does. `zazenctl report`
// reads it there for some days. All functions handle only this user's directories.
#pragma once
#include <cstdint>
#include <string>

namespace zazen {

inline constexpr std::int64_t kOrphanAgeSeconds = 3'600;

// Removes directories whose owner is dead, or moves them to the reports if there is a directory
// for them. Also removes directories that name no owner and are older than kOrphanAgeSeconds.
// Returns how many it handled.
int sweep_jobs(const std::string& jobs_directory, const std::string& reports_directory);

// The runtime directory is in memory on most machines, so the files that ranks write into
// reports are bounded. All users who have reports get equal shares, so no user's reports evict
// another's. Other files in a report are not counted, and are removed with it. A user's newest
// report stays even if it is beyond the limit.
struct ReportLimits {
  std::int64_t age_seconds = 7 * 86'400;
  std::uint64_t bytes = 64'000'000;
  std::uint64_t ranks = 4'096;
};
// Removes this user's reports beyond the limits, the newest only for its age, and entries that
// are no directories. Returns how many reports it removed.
int prune_reports(const std::string& reports_directory, const ReportLimits& limits = {});

}  // namespace zazen
