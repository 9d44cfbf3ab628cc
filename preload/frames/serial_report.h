// The report of a process that is not an MPI program: written at exit, if ZAZEN_REPORT asks.
#pragma once

namespace zazen {

// The processes of a job under `zazenctl run` share a ledger, and the last one to end leaves the
// report of all. Elsewhere there are many processes and one file: a process that touched no frame
// writes only if there is no report yet, and of those that did the last one to end leaves its own.
// Forked children add to their parent's ledger and write nothing.
void write_serial_report();

// The closing line of ZAZEN_LOG=info, for a process that opened frames and whose job has no summary.
void log_closing_line();

}  // namespace zazen
