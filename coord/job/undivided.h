// The line about a job that should be divided and is not, and whether the job ends for it (D24).
// Pure: no MPI, no files.
#pragma once
#include <string>

#include "coord/job/job.h"

namespace zazen {

struct DivisionVerdict {
  std::string line;   // "": there is nothing to say
  bool ends = false;  // the job must not go on
};

// A single rank reads what it would read alone: it is as good as divided. But the launcher may have
// started several, and each may take itself for one.
DivisionVerdict verdict_on(const Agreement& agreement);

}  // namespace zazen
