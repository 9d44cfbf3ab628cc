// The exchange: the default algorithm, over the leaders of the nodes (docs/protocol.md).
//
// Every node owns a slice of the domain. (1) Each node sends each owner its claims there, as
// packed sets. (2) The owner applies the rules to its slice (slice_owner.h). (3) One sum of a
// few numbers for each node tells all of them the wins of each node and the residues of each
// slice, hence the quotas. (4) The owners return exceptions only: claims lost, residues to
// adopt; if there are none in the whole job, this step is left out.
//
// All datasets of a job go through the steps together: each is decided for itself, and there
// are as many operations among the nodes as for one.
//
// A node that fails on the way (memory, bytes that make no sense) takes part in every
// collective all the same, and says so in the sum. run() then throws, on every node if it was
// before the sum; the caller votes before anybody uses a result.
#pragma once
#include <cstdint>
#include <vector>

#include "coord/ranks/communicator.h"
#include "coord/ranks/trouble.h"
#include "coord/sets/packed_set.h"

namespace zazen {

class ExchangeProtocol {
 public:
  // The domains of the datasets. ranks: of each node, by leader.
  ExchangeProtocol(std::vector<std::size_t> domains, std::vector<std::uint64_t> ranks);
  ExchangeProtocol(std::size_t domain, std::vector<std::uint64_t> ranks)
      : ExchangeProtocol(std::vector{domain}, std::move(ranks)) {}

  // Before run(): the frames of the domain that this node holds, and whether it can cache more
  // of them (coord/protocol/quotas.h).
  PackedSet& natives(std::size_t dataset = 0) { return datasets_[dataset].natives; }
  PackedSet& aliens(std::size_t dataset = 0) { return datasets_[dataset].aliens; }
  bool& can_cache(std::size_t dataset = 0) { return datasets_[dataset].can_cache; }

  // Collective; every leader has the same domains and ranks. `trouble` is what has gone wrong
  // here already.
  void run(Communicator& leaders, Trouble trouble = {});

  // After run(): the frames of this node, residues among them; and how many residues there
  // are in all.
  const PackedSet& own(std::size_t dataset = 0) const { return datasets_[dataset].own; }
  std::uint64_t residue_count(std::size_t dataset = 0) const {
    return datasets_[dataset].residue_count;
  }

 private:
  struct Dataset {
    PackedSet natives, aliens, own;
    bool can_cache = false;
    std::uint64_t residue_count = 0;
  };

  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> counters_;
  std::vector<Dataset> datasets_;
};

// The frames of a node: what it claims, without what it lost, and what it adopts. verdicts
// has the bytes of the two sets for each owner. Throws std::runtime_error if they make no
// sense. Takes the natives' memory as far as it can.
PackedSet apply_verdicts(PackedSet natives, const PackedSet& aliens,
                         std::span<const MessagePair> verdicts);

}  // namespace zazen
