// Random states of the caches of a cluster, for the tests of the protocol. Natives and aliens
// are on none, one or several nodes, in the patterns that real jobs leave.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "coord/sets/bitmap.h"

namespace zazen {

struct CacheStates {
  std::size_t frames = 0;
  std::vector<std::uint64_t> ranks;   // of each node
  std::vector<std::uint64_t> caches;  // 0: the node cannot cache
  std::vector<Bitmap> natives, aliens;

  std::size_t nodes() const { return ranks.size(); }
};

// 1 to 12 nodes. Most domains are small; one of 200 has several chunks.
CacheStates random_states(std::mt19937_64& random);

}  // namespace zazen
