// The record that `zazenctl run` makes of a job before it becomes the program
// (bodhi/lean/run/run_record.h).
#pragma once
#include <string>
#include <vector>

namespace zazen {

struct NewRun {
  std::string runtime;  // of this node
  std::vector<std::string> command;
  bool is_quiet = false;
  bool starts_ranks = false;  // the command is an MPI launcher
};

// Returns the value of ZAZEN_JOB, or "" if a `zazenctl run` in front of the launcher has begun
// the job. If no record can be made, the program counts for itself.
std::string begin_run(const NewRun& run);
// For a program that could not be started: undoes begin_run().
void abandon_run(const std::string& value);

}  // namespace zazen
