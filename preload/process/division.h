// Whether the job of this process should be divided among its ranks, and what is done where it
// is not and no plug-in can say so (D24).
//
// Should: ZAZEN_FILTER says so, or a dataset's key, as the daemon's table has it, or
// ZAZEN_DIVISION (what `zazenctl run` read in the configuration), or the table that a dead
// daemon left.
#pragma once
#include "bodhi/lean/run/filter_wish.h"
#include "preload/process/node.h"

namespace zazen {

struct Expectation {
  FilterMode filter;
  const char* paths;  // of the datasets, as people read it; "": they are not known
};
Expectation expected_division();

// This process is one of so many; -1: nobody knows.
struct Standing {
  long rank;
  long size;
};

// The job is not divided, for this reason: rank 0 says so, and where division is required the
// job ends. `abort` ends it if it can, or returns; then the process ends alone.
void answer_for_undivided_job(const Standing& standing, const char* reason, void (*abort)());

// A listing that no view filters, before MPI_Init: it shows all frames to each of several
// processes.
bool early_listings_matter();
// The directory of one of the node's datasets is being listed so. Where division is required
// the process ends.
void note_early_listing(const Node& node, std::uint32_t dataset);
// One was, of a dataset with this path.
bool was_listed_early(const char* path);

}  // namespace zazen
