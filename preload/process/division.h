// Decides whether the job of this process should be divided among its ranks. Also acts if the
// job is not divided and no plug-in can report it (D24).
//
// Sources: ZAZEN_FILTER; a dataset's key in the daemon's table; ZAZEN_DIVISION (from the
// configuration that `zazenctl run` read); or the table that a dead daemon left.
#pragma once
#include "bodhi/lean/run/filter_wish.h"
#include "preload/process/node.h"

namespace zazen {

struct Expectation {
  FilterMode filter;
  const char* paths;  // of the datasets, as text for people; "": not known
};
Expectation expected_division();

// The rank of this process and the number of ranks; -1: unknown.
struct Standing {
  long rank;
  long size;
};

// To be called if the job is not divided, with the reason. Rank 0 reports it; if division is
// required, the job ends. `abort` ends the job if it can; if it returns, this process ends
// alone.
void answer_for_undivided_job(const Standing& standing, const char* reason, void (*abort)());

// Whether an unfiltered listing before MPI_Init matters: it would show all frames to each of
// several processes.
bool early_listings_matter();
// Notes such a listing of the directory of one of the node's datasets. If division is required,
// the process ends.
void note_early_listing(const Node& node, std::uint32_t dataset);
// Whether a dataset with this path was listed so.
bool was_listed_early(const char* path);

}  // namespace zazen
