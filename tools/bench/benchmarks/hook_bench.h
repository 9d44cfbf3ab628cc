// `zazen-bench hook`: what the hook behind MPI_Init costs a job. Real daemons, each with its
// part of the frames, a real mpirun, and a program that calls MPI_Init, opens one frame and
// ends.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct HookBenchOptions {
  std::string directory;
  std::string origin;                // where the frames are; "": there, too
  std::uint64_t frames = 1'000'000;  // of each dataset
  int datasets = 1;                  // the program reads the first
  int ranks = 8;
  int nodes = 8;
  int rounds = 10;
  bool shuffled = false;  // frames were written in no order, and lie on the nodes at random
};

struct HookFigures {
  HookBenchOptions options;
  double first_listing_seconds = 0;      // of the job that found no listing
  std::vector<double> protocol_seconds;  // rank 0's, by round
  std::map<std::string, double> phases;  // medians
  double added_seconds = 0;              // to MPI_Init on rank 0: median of the differences
  double added_to_last_seconds = 0;      // until the last rank is back from it
  double cpu_seconds = 0;                // of all ranks until MPI_Init returns; the same
  double first_frame_seconds = 0;        // from the last return until every rank has one open
  double plain_first_frame_seconds = 0;
};

Result<HookFigures> measure_hook(const HookBenchOptions& options);
void print_hook_figures(const HookFigures& figures, bool as_json);

}  // namespace zazen
