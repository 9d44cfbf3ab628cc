// The message about a job that should be divided and is not, and whether the job ends because
// of it (D24). Pure: no MPI, no files.
#pragma once
#include <string>

#include "coord/job/job.h"

namespace zazen {

struct DivisionVerdict {
  std::string line;   // "": there is nothing to say
  bool ends = false;  // the job must not go on
};

// A single rank reads all frames and needs no division. But the launcher may have started
// several processes that each take themselves for a single rank.
DivisionVerdict verdict_on(const Agreement& agreement);

}  // namespace zazen
