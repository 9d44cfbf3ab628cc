// One pass over the ranks: groups are numbered by their first rank, so leaders ascend.
#include "coord/ranks/node_groups.h"

#include <map>

namespace zazen {

NodeGroups group_by_node(std::span<const Member> members) {
  NodeGroups groups;
  std::map<NodeId, int> known;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    int group = static_cast<int>(groups.ranks.size());
    if (members[rank].has_daemon)
      group = known.try_emplace(members[rank].node, group).first->second;
    if (group == static_cast<int>(groups.ranks.size())) groups.ranks.emplace_back();
    groups.ranks[static_cast<std::size_t>(group)].push_back(static_cast<int>(rank));
    groups.group_of.push_back(group);
  }
  groups.nodes = static_cast<int>(known.size());
  return groups;
}

}  // namespace zazen
