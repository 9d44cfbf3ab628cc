// A worker: the process that serves one user's programs with exactly this user's rights (D23).
// It holds their connections and descriptors, reads origins, and asks zazend for whatever is to
// be done in the cache. Whatever hangs here hangs for this user only; nothing is waited for at
// the end, for the kernel ends it with its forker.
#pragma once
#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"

namespace zazen {

// Returns when zazend is gone, or the worker was idle for a while.
void run_worker(const Config& config, UniqueFd receive, UniqueFd send);

}  // namespace zazen
