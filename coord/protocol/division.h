// Divides the domains of a job's datasets among the ranks of a gathering: from the frames that
// the nodes hold to the indexes that this rank reads.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "coord/protocol/protocol.h"
#include "coord/ranks/job_ranks.h"

namespace zazen {

struct Share {
  PackedSet frames;           // indexes in the domain
  std::uint64_t adopted = 0;  // residues of all; known to the node leaders, rank 0 among them
};

class Division {
 public:
  // Allocates all memory whose size is known; all ranks have the same domains. The leaders call
  // look_up, which returns the frames that their nodes hold.
  Division(JobRanks& all, ProtocolChoice choice, std::vector<std::size_t> domains,
           const std::function<void(Protocol&)>& look_up);

  // Collective. To be called after a vote has shown that all ranks have a division and that
  // their groups are formed. A rank notes its failure in its trouble: a vote must follow before
  // the shares are used. One share for each domain.
  std::vector<Share> run();

 private:
  JobRanks* all_;
  std::vector<std::size_t> domains_;
  std::optional<Protocol> protocol_;  // only on a leader
};

}  // namespace zazen
