// The states of the caches in which the protocol is measured: the frames that one node holds of
// `frames` frames on `nodes` nodes, as packed sets. They are made from the node's number alone,
// in a time in proportion to them.
//
//   roundrobin  within each group of p consecutive frames a random permutation of the nodes:
//               every frame is native once, and no stride compresses it
//   holes       the same, but 5% of the frames are cached nowhere, and 5% are aliens on two to
//               four nodes
//   blocks      section 5.1 of the paper: a block of natives on each node, the rest aliens
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "coord/protocol/held_frames.h"

namespace zazen {

enum class Workload { kRoundRobin, kHoles, kBlocks };

std::optional<Workload> workload_named(const std::string& name);
// The paper's algorithm takes its second reduction.
inline bool has_second_round(Workload workload) {
  return workload != Workload::kRoundRobin;
}

NodeHoldings holdings_of(Workload workload, std::size_t frames, std::size_t node,
                         std::size_t nodes);

}  // namespace zazen
