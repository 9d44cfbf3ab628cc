// How the ranks come to the same listings if their nodes do not keep the same ones (D20).
#pragma once
#include <optional>
#include <span>
#include <string>

#include "coord/job/dataset_start.h"
#include "coord/ranks/job_ranks.h"

namespace zazen {

// Collective. For each dataset, are the nodes' listings the same? If not, all ranks get one of
// them: from the lowest rank that has it, or else the one that rank 0 takes now. The nodes that
// had none keep it. A listing that a rank has but has not checked, since it is no leader, does
// not count.
//
// Whether a listing was shared; nothing if a vote has failed. Another vote must follow.
std::optional<bool> share_listings(JobRanks& all, const std::string& runtime,
                                   std::span<DatasetStart> datasets);

}  // namespace zazen
