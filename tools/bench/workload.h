// What each node of an imaginary cluster holds, for the benchmarks of the protocol. Every node
// computes its own part, without communication and always the same.
//
//   blocks      section 5.1 of the paper: the node's block of the frames is native, all others
//               are aliens
//   roundrobin  in each group of p consecutive frames a random permutation of the p nodes; all
//               native, and no stride compresses them
//   holes       roundrobin, but 5% of the frames are nowhere, and 5% are aliens on 2 to 4 nodes
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "coord/packed_set.h"

namespace zazen {

enum class Workload { kBlocks, kRoundRobin, kHoles };
std::optional<Workload> workload_named(const std::string& name);
// The paper's algorithm takes its second reduction.
inline bool has_second_round(Workload workload) {
  return workload != Workload::kRoundRobin;
}

struct Holdings {
  PackedSet natives;
  PackedSet aliens;
};
Holdings holdings_of(Workload workload, std::size_t frames, std::size_t node,
                     std::size_t nodes);

}  // namespace zazen
