// The worker of `zazen-bench shim`: a process of its own, started with the shim or without.
//
// Each line on stdin names a case; the answer, one line on stdout, is a JSON array with the
// nanoseconds of one call for each sample. When stdin ends, the last line is the number of
// frames that were opened in all.
#pragma once
#include <string>

#include "tools/bench/support/cases.h"

namespace zazen {

// The plain side uses the copies in the cache by their own names, the shim side the
// origin's names. The exit status of the process.
int shim_worker(Side side, const std::string& root);

}  // namespace zazen
