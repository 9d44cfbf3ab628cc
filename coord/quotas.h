// How many residues each node adopts, so that the frames for each rank come out as even as the
// frames that the nodes read anyway allow. Pure: all nodes compute the same from the same.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace zazen {

// The nodes are filled up to one common level of frames for each rank, as water would fill
// them; those that are above it already get none. Let l be that level. A node with a quota ends
// with at most floor(l * ranks) + 1 frames and at least floor(l * ranks), so no quota could be
// moved to lower the highest load by more than one frame of a node. `quotas` has room for all
// nodes; their sum is `residues`. Every node has at least one rank.
void fill_quotas(std::span<const std::uint64_t> wins, std::span<const std::uint64_t> ranks,
                 std::uint64_t residues, std::span<std::uint64_t> quotas);

}  // namespace zazen
