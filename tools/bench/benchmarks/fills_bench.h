// `zazen-bench fills`: how much the fills slow the programs' own reads. Cold frames of a
// throttled file server (tests/fills/slow_origin, on FUSE) are read by new processes with and
// without Zazen, by turns; a ratio is that of two neighbouring turns.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct FillsBenchOptions {
  std::string directory;  // where the temporary directory is made
  int rounds = 5;
};

struct FillFigures {  // of one case
  std::string name, title;
  int readers = 0;
  double plain_seconds = 0, filled_seconds = 0;  // medians
  double ratio = 0;                              // the median of the pairs'
  double lowest_ratio = 0, highest_ratio = 0;
};

Result<std::vector<FillFigures>> measure_fills(const FillsBenchOptions& options);

void print_fill_figures(const std::vector<FillFigures>& figures, bool as_json);

struct FrameReading {  // what one reader does
  std::string path;
  std::uint64_t first = 0, end = 0;  // bytes
  std::uint64_t piece = 0;
  int pause_ms = 0;  // of work, after each piece
};

// A process of its own: reads once a line comes, and answers with the seconds; at the end, how
// many bytes it read. Its exit status.
int fills_worker(const FrameReading& reading);

}  // namespace zazen
