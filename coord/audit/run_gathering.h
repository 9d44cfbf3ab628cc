// The runs of a job on several nodes, put together: rank 0 adds what the ranks with other records
// did to its own record (bodhi/lean/run/run_record.h). Pure but for the record.
#pragma once
#include <optional>
#include <vector>

#include "bodhi/lean/run/run_record.h"
#include "coord/audit/tally_fragment.h"

namespace zazen {

// A frame that several nodes opened is counted once; the bytes are each node's.
void add_others(const std::vector<std::optional<Fragment>>& others, RunRecord& own);

}  // namespace zazen
