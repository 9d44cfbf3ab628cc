// `zazen-bench readers`: how much pushes slow those who read cached frames (section 5.2.3 of
// the paper, figure 8). Processes with the shim read copies from the disk while a writer pushes
// frames to the same daemon at a fixed rate; a ratio is that of two neighbouring turns, with
// the writer and without it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct ReadersBenchOptions {
  std::string directory;                               // where the temporary directory is made
  std::vector<std::uint64_t> read_sizes, write_sizes;  // of frames
  std::uint64_t read_bytes = 0;                        // of frames of each size
  std::uint64_t rate = 0;  // bytes pushed in a second; 0: in the paper's proportion
  int readers = 2;
  int rounds = 5;
  double turn_seconds = 3;  // at least
};

struct ReadersFigures {  // of one size read and one size written
  std::uint64_t read_size = 0, write_size = 0;
  double alone = 0, beside = 0;  // bytes read in a second without and with the writer, medians
  double ratio = 0, lowest_ratio = 0, highest_ratio = 0;
  double rate = 0;                 // bytes to be pushed in a second, the median
  double pushed_rate = 0;          // that were, in the turns
  std::uint64_t pushed_bytes = 0;  // in all turns
};

Result<std::vector<ReadersFigures>> measure_readers(const ReadersBenchOptions& options);

void print_readers_figures(const std::vector<ReadersFigures>& figures, bool as_json);

// A process of its own: a line "FIRST END STEP" has it read these frames from the disk, and the
// answer is how many bytes that were; at the end, how many frames it opened. Its exit status.
int readers_worker(const std::string& root);

}  // namespace zazen
