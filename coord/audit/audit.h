// The audit: merges the fragments of all ranks into the figures of the job, and describes the
// result in plain English. Pure, except for the record of a run: no MPI, no files.
//
// The audit makes no claim about a rank whose fragment did not arrive; then `complete` is
// false. It omits datasets that no rank listed or opened: the job did not use them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/lean/run/report.h"
#include "bodhi/lean/run/run_record.h"
#include "coord/audit/tally_fragment.h"
#include "coord/job/job.h"

namespace zazen {

struct DatasetAudit {
  std::string path;
  bool filtered = false;
  bool was_listed = false;  // a rank that reported, or one of its child processes, listed it
  int early_rank = -1;      // the lowest rank that listed it before MPI_Init, and not again
  AuditMode mode = AuditMode::kFail;
  std::uint64_t listed = 0;  // filtered: the domain; else frames listed or opened
  std::uint64_t read = 0;    // by at least one rank
  std::uint64_t read_twice = 0;
  std::uint64_t never_read = 0;
};

// The report of the job, with its parts. The caller adds when frames arrived, how long the
// protocol took, and why there was no filter.
struct Audit : JobReport {
  Audit();
  Audit(Audit&&) = default;
  Audit& operator=(Audit&&) = default;

  int ranks_missing = 0;
  std::vector<DatasetAudit> datasets;
  std::vector<RankReport> by_rank;
};

// One fragment for each rank, in order; no value for one that did not arrive.
Audit merge_fragments(const Agreement& agreement,
                      const std::vector<std::optional<Fragment>>& fragments);

// Rank 0 adds the figures of ranks with other records to its own record. A frame that several
// nodes opened counts once; the bytes of each node count.
void add_others(const std::vector<std::optional<Fragment>>& others, RunRecord& own);

// For the log, when the views are agreed on.
std::vector<std::string> start_message(const Agreement& agreement, double seconds);
// Did the filter lose frames: did ranks see a part of the listing, and did no rank read the
// other frames? A single rank sees all frames. Ranks that list nothing lose nothing by the
// filter (D24).
bool has_lost_frames(const Audit& audit, const DatasetAudit& dataset);
// Did ranks read frames from a listing of before MPI_Init, which shows the frames of all ranks?
// A few reference frames that every rank reads do not count.
bool has_repeated_frames(const Audit& audit, const DatasetAudit& dataset);
// Is that a failure of the job? A rank that did not report may have read the missing frames.
bool is_failure(const Audit& audit);
// Always printed: frames that the filter lost, as far as the ranks reported, and frames that it
// could not divide. Empty if there are none.
std::vector<std::string> loss_message(const Audit& audit);
// For the log, at the end.
std::vector<std::string> closing_message(const Audit& audit);

}  // namespace zazen
