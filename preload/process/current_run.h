// CurrentRun: the record of the job under `zazenctl run` that this process is of, and the line
// that ends the job (bodhi/lean/run/run_record.h). The record is mapped when it is first
// needed, and kept; fork inherits it. A job that nobody started with `zazenctl run` has none.
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

// At start, with settings.run and settings.place: a rank says that it is there.
void begin_run();

// Where the frames of a report are noted: the job's ledger, or for a rank one of its own.
Ledger* ledger_of_report();

// Is this the process that `zazenctl run` became?
bool is_process_of_run();

// At exit and in _exit: the end of this process is noted. One process of the job prints the
// summary. Makes system calls only, and may be called again.
void end_run();

}  // namespace zazen
