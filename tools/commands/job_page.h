// The page of one job, for `zazenctl report --html` and `zazenctl serve`: which rank read which
// frames from where, what was not accelerated and why, and earlier runs of the same command.
#pragma once
#include <vector>

#include "tools/commands/job_record.h"
#include "tools/web/html.h"

namespace zazen {

// `all` are the jobs that are known here, the latest first; the job may be one of them.
void write_job(Html& html, const JobRecord& job, const std::vector<JobRecord>& all);

}  // namespace zazen
