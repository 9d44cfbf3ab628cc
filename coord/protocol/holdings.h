// What a node holds of a domain, by its sequence logs.
#pragma once
#include <string>

#include "coord/sets/domain.h"
#include "coord/sets/packed_set.h"

namespace zazen {

// A log that cannot be read is an empty one: its frames are read from the origin.
PackedSet held_frames(const std::string& log, const Domain& domain);

}  // namespace zazen
