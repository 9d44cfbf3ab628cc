// The division of one domain among the ranks of a gathering: from what the nodes hold to the
// indexes that this rank reads.
#pragma once
#include <functional>

#include "coord/gathering.h"
#include "coord/protocol.h"

namespace zazen {

struct Share {
  PackedSet frames;           // indexes in the domain
  std::uint64_t adopted = 0;  // residues of all; known to the node leaders, rank 0 among them
};

// Collective; all ranks have the same domain. look_up is called on the leaders and says what
// their nodes hold. False if a vote failed. After that, a rank's failure is in its trouble: a
// vote must follow before the share is used.
bool divide(Gathering& all, ProtocolChoice choice, std::size_t domain,
            const std::function<void(Protocol&)>& look_up, Share* share);

}  // namespace zazen
