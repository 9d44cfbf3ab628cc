// NodeGroups: which ranks share a node. A node is a daemon (D11): ranks that reach the same
// daemon form a group, whose leader is its lowest rank. A rank without a daemon is a group of
// its own that holds nothing. Pure: every rank computes the same result from the same members.
#pragma once
#include <span>
#include <vector>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

struct Member {  // what a rank states about itself, by rank
  bool has_daemon;
  NodeId node;
};

struct NodeGroups {
  std::vector<std::vector<int>> ranks;  // of each group, ascending; groups by their leader
  std::vector<int> group_of;            // of each rank
  int nodes = 0;                        // groups with a daemon

  bool is_leader(int rank) const { return ranks[group(rank)].front() == rank; }
  std::size_t group(int rank) const {
    return static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)]);
  }
};

NodeGroups group_by_node(std::span<const Member> members);

}  // namespace zazen
