// The exchange: the default algorithm, over the leaders of the nodes (docs/protocol.md).
//
// Every node owns a slice of the domain. (1) Each node sends its claims in each slice to the
// slice's owner, as packed sets. (2) The owner applies the rules to its slice (slice_owner.h).
// (3) One sum of a few numbers for each node tells all nodes the wins of each node and the
// residues of each slice. The quotas follow from these. (4) The owners return only exceptions:
// claims lost, residues to adopt. If the whole job has none, this step is skipped.
//
// All datasets of a job go through the steps together. Each is decided independently, and the
// number of operations among the nodes is the same as for one.
//
// A node that fails on the way (memory, malformed bytes) takes part in every collective and
// reports the failure in the sum. run() then throws. After a failure before the sum, it throws
// on every node. The caller votes before any rank uses a result.
#pragma once
#include <cstdint>
#include <vector>

#include "coord/protocol/held_frames.h"
#include "coord/ranks/communicator.h"
#include "coord/ranks/first_error.h"

namespace zazen {

class ExchangeProtocol {
 public:
  // The frames of each dataset that this node holds. ranks: the number on each node, by leader.
  ExchangeProtocol(std::vector<NodeHoldings> holdings, std::vector<std::uint64_t> ranks);

  // Until run() begins.
  const NodeHoldings& held(std::size_t dataset) const { return datasets_[dataset].held; }

  // Collective; every leader has the same domains and ranks. `trouble` is an earlier failure of
  // this rank.
  void run(Communicator& leaders, FirstError first_error = {});

  // After run(): the frames of this node, with its residues; and the number of all residues.
  const PackedSet& own(std::size_t dataset = 0) const { return datasets_[dataset].own; }
  std::uint64_t residue_count(std::size_t dataset = 0) const {
    return datasets_[dataset].residue_count;
  }

 private:
  struct Dataset {
    NodeHoldings held;
    PackedSet own = {};
    std::uint64_t residue_count = 0;
  };

  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> counters_;
  std::vector<Dataset> datasets_;
};

// The frames of a node: its claims, without the lost ones, and the frames that it adopts.
// verdicts has the bytes of the two sets for each owner. Throws std::runtime_error if they are
// malformed. Reuses the natives' memory as far as possible.
PackedSet apply_verdicts(PackedSet natives, const PackedSet& aliens,
                         std::span<const MessagePair> verdicts);

}  // namespace zazen
