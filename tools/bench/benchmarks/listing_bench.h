// `zazen-bench listing`: a rank's listing of a large directory through the shim, against the
// plain listing of the same directory on the local disk.
#pragma once
#include <cstdint>
#include <string>

#include "bodhi/common/result.h"

namespace zazen {

struct ListingBenchOptions {
  std::string directory;  // where the temporary directory is made
  std::uint64_t frames = 1'000'000;
  int rounds = 5;
};

struct ListingFigures {
  std::uint64_t frames = 0;
  int rounds = 0;
  double plain_seconds = 0;  // medians
  double shim_seconds = 0;
  double ratio = 0;  // median of the rounds' shim by plain
};

// The view is one of all frames: the most that a rank can be shown.
Result<ListingFigures> measure_listing(const ListingBenchOptions& options);

void print_listing_figures(const ListingFigures& figures, bool as_json);

// A process of its own: for each line on stdin it lists the directory by readdir and answers
// with the nanoseconds; at the end, how many entries the last listing had. Its exit status.
int listing_worker(const std::string& directory);

}  // namespace zazen
