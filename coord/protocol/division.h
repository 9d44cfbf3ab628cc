// The division of the domains of a job's datasets among the ranks of a gathering: from what the
// nodes hold to the indexes that this rank reads.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "coord/protocol/protocol.h"
#include "coord/ranks/gathering.h"

namespace zazen {

struct Share {
  PackedSet frames;           // indexes in the domain
  std::uint64_t adopted = 0;  // residues of all; known to the node leaders, rank 0 among them
};

class Division {
 public:
  // Takes the memory that it needs as far as it can be known; all ranks have the same domains.
  // look_up is called on the leaders and says what their nodes hold.
  Division(Gathering& all, ProtocolChoice choice, std::vector<std::size_t> domains,
           const std::function<void(Protocol&)>& look_up);

  // Collective, when a vote has shown that all ranks have a division and their groups are
  // formed. A rank's failure is in its trouble: a vote must follow before the shares are used.
  // One for each domain.
  std::vector<Share> run();

 private:
  Gathering* all_;
  std::vector<std::size_t> domains_;
  std::optional<Protocol> protocol_;  // a leader's
};

}  // namespace zazen
