// CurrentRun: the record of the job under `zazenctl run` that this process belongs to, and the
// line at the job's end (bodhi/lean/run/run_record.h). The record is mapped at first use and
// never unmapped; fork inherits it. A job without `zazenctl run` has no record.
#pragma once
#include "bodhi/lean/run/run_record.h"

namespace zazen {

extern std::atomic<RunRecord*> mapped_run;

// The slow part of current_run().
RunRecord* map_current_run();

// Null if there is none.
inline RunRecord* current_run() {
  RunRecord* record = mapped_run.load(std::memory_order_acquire);
  return record != nullptr ? record : map_current_run();
}

// To be called at start, with settings.run and settings.place: notes the presence of a rank.
void begin_run();

// The ledger that notes the frames of a report: the job's, or a rank's own.
Ledger* ledger_of_report();

// Is this the process that `zazenctl run` became?
bool is_process_of_run();

// To be called at exit and in _exit: notes the end of this process. One process of the job
// prints the summary. Makes system calls only, and may be called again.
void end_run();

}  // namespace zazen
