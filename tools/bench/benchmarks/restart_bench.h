// `zazen-bench restart`: how soon a daemon with many copies serves after a clean stop and after
// SIGKILL, what memory it takes, and how it answers while everything is evicted.
//
// The copies are made here as a daemon would leave them, and an origin for each. With
// `synthetic` only the sequence log is: then the frames are in the daemon's tables, and what
// needs files is not measured.
#pragma once
#include <cstdint>
#include <string>

#include "bodhi/common/result.h"

namespace zazen {

struct RestartBenchOptions {
  std::string directory;  // where the temporary directory is made
  std::uint64_t frames = 1'000'000;
  bool synthetic = false;
};

struct StartFigures {
  double seconds = 0;            // from the start of the process until programs are served
  std::uint64_t frames = 0;      // that it held then
  std::uint64_t private_kb = 0;  // anonymous memory then
};

struct RestartFigures {
  std::uint64_t frames = 0;
  bool synthetic = false;
  StartFigures clean, unclean;
  double status_p50_ms = 0, status_p99_ms = 0;  // right after the start, still reconciling
  // From here on not if synthetic.
  double reconcile_seconds = 0;
  std::uint64_t private_kb = 0;  // once reconciled
  double read_p99_us = 0;        // open, read, close of a cached frame through the shim
  double evict_seconds = 0;      // of all but the frames that are read meanwhile
  double evict_read_p99_us = 0;
  double evict_status_p99_ms = 0;
  std::uint64_t peak_private_kb = 0;  // seen at any of these moments
};

Result<RestartFigures> measure_restart(const RestartBenchOptions& options);

void print_restart_figures(const RestartFigures& figures, bool as_json);

// A process of its own: for each line on stdin it opens, reads and closes some cached frames
// and answers with the nanoseconds of each; at the end, how many it read. Its exit status.
int restart_worker(const std::string& dataset);

}  // namespace zazen
