// Computes how many residues each node adopts, so that the numbers of frames for each rank
// differ as little as possible. Pure: all nodes compute the same result from the same input.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace zazen {

// The residues raise the nodes that can cache (not 0 in `caches`) to one common level of frames
// for each rank. Nodes above the level get none. Let l be that level. A node with a quota ends
// with at most floor(l * ranks) + 1 frames and at least floor(l * ranks). So moving a quota
// cannot lower the highest load by more than one frame of a node.
//
// A rank without a daemon reads its residues from the origin in each job. So it gets none as
// long as the other nodes have less than twice an even share of all frames. The rest is divided
// among all nodes in the same way. If no node can cache, all residues are. The factor is two
// because a job with few daemons must not leave the other nodes idle.
//
// `quotas` has room for all nodes; their sum is `residues`. Every node has at least one rank.
void fill_quotas(std::span<const std::uint64_t> wins, std::span<const std::uint64_t> ranks,
                 std::span<const std::uint64_t> caches, std::uint64_t residues,
                 std::span<std::uint64_t> quotas);

}  // namespace zazen
