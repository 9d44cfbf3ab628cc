// `zazen-bench misses`: what a first pass over uncached frames costs. The origin is a file
// server on FUSE whose every request takes 0.3 ms (slow_origin.h). One process reads all frames
// without Zazen, another one under the shim, by turns; a ratio is that of two neighbouring
// turns. Then both read only the headers of large frames, and the server tells what it has
// sent.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct MissesBenchOptions {
  std::string directory;  // where the temporary directory is made
  int rounds = 5;
};

struct MissFigures {
  struct Pass {
    std::uint64_t bytes = 0, frames = 0;
    double plain_seconds = 0, missed_seconds = 0;  // medians
    double ratio = 0, lowest_ratio = 0, highest_ratio = 0;
    // Of the program for one frame, and of all processes.
    double plain_requests = 0, program_requests = 0, all_requests = 0;
  };
  struct Headers {
    std::uint64_t bytes = 0, frames = 0, read_bytes = 0;
    double plain_seconds = 0, missed_seconds = 0;
    std::uint64_t plain_sent = 0, sent = 0;  // until so long after the pass
    double seconds_after = 0;
  };
  int rounds = 0;
  std::vector<Pass> passes;
  Headers headers;
};

Result<MissFigures> measure_misses(const MissesBenchOptions& options);

void print_miss_figures(const MissFigures& figures, bool as_json);

// A process of its own: reads frames "FIRST COUNT BYTES" of the dataset below `root` for each
// line, and answers with the seconds and its pid; at the end, how many frames it read. Its exit
// status.
int misses_worker(const std::string& root);

}  // namespace zazen
