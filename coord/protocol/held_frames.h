// The frames of a domain that a node holds, by its sequence logs.
#pragma once
#include <string>

#include "coord/sets/domain.h"
#include "coord/sets/packed_set.h"

namespace zazen {

struct NodeHoldings {  // of one dataset, as indexes in the domain
  PackedSet natives, aliens;
  bool can_cache = false;  // more of its frames (coord/protocol/quotas.h)
};

// By the logs in this directory of the cache.
NodeHoldings holdings_of_node(const std::string& directory, const Domain& domain);

// A log that cannot be read counts as empty: its frames are read from the origin.
PackedSet held_frames(const std::string& log, const Domain& domain);

}  // namespace zazen
