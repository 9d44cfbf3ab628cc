// The report of a process that is not an MPI program: written at exit, if ZAZEN_REPORT asks.
#pragma once

namespace zazen {

// The processes of a job under `zazenctl run` share a ledger, and the last one to end writes
// the report of all. Elsewhere many processes have the same report file. A process that opened
// or listed no frame writes only if there is no report. Of the others, the last one to end
// replaces the report. Forked children add to their parent's ledger and write nothing.
void write_serial_report();

// Logs the closing line of ZAZEN_LOG=info, for a process that opened frames and whose job has
// no summary.
void log_closing_line();

}  // namespace zazen
