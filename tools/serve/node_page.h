// The page of `zazenctl serve`: problems and what to do, nodes, hit rate, datasets, jobs.
#pragma once
#include <vector>

#include "tools/commands/job_record.h"
#include "tools/serve/watched_nodes.h"
#include "tools/web/html.h"

namespace zazen {

// Links to "job/NUMBER", relative to the page.
void write_nodes(Html& html, const NodesView& view, const std::vector<JobRecord>& jobs);

}  // namespace zazen
