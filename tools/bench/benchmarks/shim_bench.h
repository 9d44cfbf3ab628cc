// `zazen-bench shim`: what the shim costs a program, as ratios to the same calls without it.
#pragma once
#include <string>

#include "bodhi/common/result.h"
#include "tools/bench/benchmarks/shim_figures.h"

namespace zazen {

struct ShimBenchOptions {
  std::string directory;  // where the temporary directory is made
  int rounds = 30;
};

// An error if anything was measured that was not meant: a frame that did not come from the
// cache, wrong bytes, hits that do not add up. With EPROTO the context says it all.
Result<ShimFigures> measure_shim(const ShimBenchOptions& options);

}  // namespace zazen
