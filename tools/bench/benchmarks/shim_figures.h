// What `zazen-bench shim` measured, and how it is shown.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/bench/support/cases.h"

namespace zazen {

struct CaseFigures {
  const Case* what;
  double plain_ns_p50, plain_ns_p99;
  double shim_ns_p50, shim_ns_p99;
  double ratio;     // median, over the pairs of turns, of shim's p50 by plain's p50
  double added_ns;  // the same of the difference
};

struct ShimFigures {
  std::vector<CaseFigures> cases;  // in the order of shim_cases()
  std::uint64_t hits = 0;          // frames that the shim opened from the cache
  int rounds = 0;

  double exec_added_us() const;
};

void print_figures(const ShimFigures& figures);
void print_figures_as_json(const ShimFigures& figures);

}  // namespace zazen
