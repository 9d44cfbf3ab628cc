// Divides the domains of a job's datasets among the ranks: from the frames that the nodes hold
// to the indexes that this rank reads. The node leaders run the algorithm that the job has
// chosen, for all datasets; then each leader divides its node's frames among its ranks.
//
// The paper's algorithm has no rule for a frame that is native on two nodes. All nodes detect
// this alike and use the exchange instead.
#pragma once
#include <optional>
#include <vector>

#include "coord/protocol/exchange.h"
#include "coord/protocol/paper.h"
#include "coord/ranks/job_ranks.h"

namespace zazen {

struct Share {
  PackedSet frames;           // indexes in the domain
  std::uint64_t adopted = 0;  // residues of all; known to the node leaders, rank 0 among them
};

class Division {
 public:
  // Allocates all memory whose size is known. `holdings`: one for each dataset, with the same
  // domain on all ranks; those of a leader count.
  Division(JobRanks& all, ProtocolChoice choice, std::vector<NodeHoldings> holdings);

  // Collective. To be called after a vote has shown that all ranks have a division and that
  // their groups are formed. A rank notes its failure in its first_error(): a vote must follow
  // before the shares are used. One share for each dataset.
  std::vector<Share> run();

 private:
  struct Paper {  // a dataset by the paper's algorithm
    PaperProtocol steps;
    PackedSet own = {};
    std::uint64_t residue_count = 0;
  };
  bool run_papers();
  std::vector<std::string> deal() const;

  JobRanks* all_;
  std::vector<std::size_t> domains_;
  std::vector<std::uint64_t> ranks_;  // on each node, by leader
  // Only on a leader:
  std::optional<ExchangeProtocol> exchange_;
  std::vector<Paper> papers_;          // empty for the exchange
  std::vector<std::uint64_t> caches_;  // which nodes can cache, by dataset and node
};

}  // namespace zazen
