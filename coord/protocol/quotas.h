// How many residues each node adopts, so that the frames for each rank come out as even as the
// frames that the nodes read anyway allow. Pure: all nodes compute the same from the same.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace zazen {

// The nodes that can cache (not 0 in `caches`) are filled up to one common level of frames for
// each rank, as water would fill them; those that are above it already get none. Let l be that
// level. A node with a quota ends with at most floor(l * ranks) + 1 frames and at least
// floor(l * ranks), so no quota could be moved to lower the highest load by more than one frame
// of a node.
//
// A rank without a daemon reads residues again in each job, so it gets none as long as the
// others have room: up to twice an even share of all frames. The rest fills all nodes, in the
// same way. Where no node can cache, all residues do. Twice, because a job of which few nodes
// have a daemon must not leave the others idle.
//
// `quotas` has room for all nodes; their sum is `residues`. Every node has at least one rank.
void fill_quotas(std::span<const std::uint64_t> wins, std::span<const std::uint64_t> ranks,
                 std::span<const std::uint64_t> caches, std::uint64_t residues,
                 std::span<std::uint64_t> quotas);

}  // namespace zazen
