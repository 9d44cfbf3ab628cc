// Protocol: from what this node holds to the frames that it reads, by the algorithm that the
// job chose. Over the leaders of the nodes.
//
// The paper's algorithm has no answer for a frame that is native on two nodes. It notices, on
// all nodes alike, and the exchange answers instead.
//
// As far as it can be known beforehand, memory is taken by the constructor. run() takes part in
// every collective whatever fails here, and throws at its end; the caller votes before a result
// is used.
#pragma once
#include <optional>

#include "coord/exchange.h"
#include "coord/paper.h"
#include "coord/settings.h"

namespace zazen {

class Protocol {
 public:
  // ranks: of each node, by leader.
  Protocol(ProtocolChoice choice, std::size_t domain, std::vector<std::uint64_t> ranks);

  // Before run(): the frames of the domain that this node holds.
  PackedSet& natives() { return exchange_.natives(); }
  PackedSet& aliens() { return exchange_.aliens(); }

  void run(Communicator& leaders);

  // After run(): the frames of this node; residues that each rank of the job takes a block of,
  // by its rank (the paper's step 7; none after an exchange, which deals them out itself); and
  // how many frames nobody signed up for.
  const PackedSet& own() const { return paper_ ? own_ : exchange_.own(); }
  const PackedSet& residues() const { return residues_; }
  std::uint64_t residue_count() const { return residues_.count() + exchange_.residue_count(); }

 private:
  ExchangeProtocol exchange_;
  std::optional<PaperProtocol> paper_;
  PackedSet own_;
  PackedSet residues_;
};

}  // namespace zazen
