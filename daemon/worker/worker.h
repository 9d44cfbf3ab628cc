// A worker: the process that serves one user's programs with exactly this user's rights (D23).
// It holds their connections and descriptors, reads origins, and asks zazend for all changes in
// the cache. A blocked call blocks only this user. The worker's stop waits for a bounded time,
// and the kernel ends the worker with its forker.
#pragma once
#include "bodhi/common/unique_fd.h"
#include "bodhi/config/config.h"

namespace zazen {

// Returns after zazend's order to stop. If zazend is gone, or the worker was idle for a while,
// the process ends.
void run_worker(const Config& config, UniqueFd receive, UniqueFd send);

}  // namespace zazen
