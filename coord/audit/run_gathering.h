// Puts together the runs of a job on several nodes: rank 0 adds the figures of ranks with other
// records to its own record (bodhi/lean/run/run_record.h). Pure except for the record.
#pragma once
#include <optional>
#include <vector>

#include "bodhi/lean/run/run_record.h"
#include "coord/audit/tally_fragment.h"

namespace zazen {

// A frame that several nodes opened counts once; the bytes of each node count.
void add_others(const std::vector<std::optional<Fragment>>& others, RunRecord& own);

}  // namespace zazen
