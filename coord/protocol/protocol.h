// Protocol: from the frames that this node holds to the frames that it reads, by the algorithm
// that the job has chosen. Over the leaders of the nodes, for all datasets of the job.
//
// The paper's algorithm has no rule for a frame that is native on two nodes. All nodes detect
// this alike and use the exchange instead.
//
// The constructor allocates all memory whose size is known. run() takes part in every
// collective in spite of local failures, and throws at its end. The caller votes before it uses
// a result.
#pragma once
#include <vector>

#include "coord/protocol/exchange.h"
#include "coord/protocol/paper.h"
#include "coord/settings.h"

namespace zazen {

class Protocol {
 public:
  // The domains of the datasets. ranks: the number on each node, by leader.
  Protocol(ProtocolChoice choice, const std::vector<std::size_t>& domains,
           std::vector<std::uint64_t> ranks);

  // Before run(): the frames of the domain that this node holds, and whether it can cache more
  // of them.
  PackedSet& natives(std::size_t dataset) { return exchange_.natives(dataset); }
  PackedSet& aliens(std::size_t dataset) { return exchange_.aliens(dataset); }
  bool& can_cache(std::size_t dataset) { return exchange_.can_cache(dataset); }

  void run(Communicator& leaders);

  // After run(): the frames of this node, with its residues; and the number of frames that no
  // node signed up for.
  const PackedSet& own(std::size_t dataset) const {
    return papers_.empty() ? exchange_.own(dataset) : papers_[dataset].own;
  }
  std::uint64_t residue_count(std::size_t dataset) const {
    return papers_.empty() ? exchange_.residue_count(dataset) : papers_[dataset].residue_count;
  }

 private:
  struct Paper {  // a dataset by the paper's algorithm
    PaperProtocol steps;
    PackedSet own = {};
    std::uint64_t residue_count = 0;
  };
  bool run_papers(Communicator& leaders);

  ExchangeProtocol exchange_;
  std::vector<Paper> papers_;  // empty for the exchange
  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> caches_;  // which nodes can cache, by dataset and node
};

}  // namespace zazen
