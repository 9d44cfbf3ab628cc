// `zazen-bench push`: how fast a writer's frames become durable on a node over TCP, in one run
// and by turns with a plain sendfile loop that makes the same flushes (plain_push.h), with
// rsync and with scp. A ratio is that of two turns of the same round.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct PushBenchOptions {
  std::string directory;  // where the temporary directory is made
  std::uint64_t frame_bytes = 2'000'000;
  std::uint64_t frames = 100;
  int rounds = 5;
  std::vector<std::string> only;  // ways by name; none: all
};

struct PushFigures {  // of one way
  std::string name, title;
  std::string left_out;  // why it was not measured
  std::uint64_t frame_bytes = 0, frames = 0;
  double seconds = 0;                                     // the median turn
  double ratio = 0, lowest_ratio = 0, highest_ratio = 0;  // of the plain loop's speed
  // Of a writer's last turn: frames in a second in the first and the last tenth, and the most
  // memory that the two processes had until then.
  double first_rate = 0, last_rate = 0;
  std::uint64_t writer_peak_bytes = 0, daemon_peak_bytes = 0;
};

Result<std::vector<PushFigures>> measure_push(const PushBenchOptions& options);

void print_push_figures(const std::vector<PushFigures>& figures, bool as_json);

}  // namespace zazen
