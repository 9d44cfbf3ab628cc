// Placement: chooses the node for the next frame (section 3.1 of the paper): the first node at
// random, then its peers in turn. A node that does not answer is skipped and tried again later.
// No input or output here; the caller reports which nodes failed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zazen {

class Placement {
 public:
  Placement(std::size_t nodes, std::uint64_t seed);

  // The node for the next frame; nothing if all are marked dead.
  std::optional<std::size_t> next();
  void mark_dead(std::size_t node) { dead_[node] = true; }
  void mark_alive(std::size_t node) { dead_[node] = false; }
  bool is_dead(std::size_t node) const { return dead_[node]; }

 private:
  std::vector<bool> dead_;
  std::size_t cursor_;
};

}  // namespace zazen
