// The frames of a domain that a node holds, by its sequence logs.
#pragma once
#include <string>

#include "coord/sets/domain.h"
#include "coord/sets/packed_set.h"

namespace zazen {

// A log that cannot be read counts as empty: its frames are read from the origin.
PackedSet held_frames(const std::string& log, const Domain& domain);

}  // namespace zazen
