// `zazen-bench first-miss`: how long a user's first miss takes, for which a worker is started,
// and the next one. Each user comes once, asks for two frames, and waits for each copy.
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct FirstMissOptions {
  std::string directory;  // where the temporary directory is made
  int users = 40;
};

struct FirstMissFigures {  // milliseconds; one for each user
  std::vector<double> first, next;
};

// For root only: others cannot become users.
Result<FirstMissFigures> measure_first_miss(const FirstMissOptions& options);

void print_first_miss_figures(const FirstMissFigures& figures, bool as_json);

}  // namespace zazen
