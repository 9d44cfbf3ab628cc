// Round robin from a random start. The only state is the cursor, so many writers spread their
// frames evenly without communicating.
#include "bodhi/writer/placement.h"

#include <random>

namespace zazen {

Placement::Placement(std::size_t nodes, std::uint64_t seed) : dead_(nodes, false), cursor_(0) {
  if (nodes == 0) return;
  std::mt19937_64 random(seed);
  cursor_ = std::uniform_int_distribution<std::size_t>(0, nodes - 1)(random);
}

std::optional<std::size_t> Placement::next() {
  for (std::size_t tried = 0; tried < dead_.size(); ++tried) {
    std::size_t node = cursor_;
    cursor_ = (cursor_ + 1) % dead_.size();
    if (!dead_[node]) return node;
  }
  return std::nullopt;
}

}  // namespace zazen
