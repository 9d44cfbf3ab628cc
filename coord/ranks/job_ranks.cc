// If every node has one rank, or one node has all ranks, the communicator is not split.
#include "coord/ranks/job_ranks.h"

#include <map>
#include <stdexcept>

namespace zazen {

// One pass over the ranks: groups are numbered by their first rank, so leaders ascend.
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

bool JobRanks::vote(std::span<std::uint64_t> minima) {
  if (world_.failed()) first_error_.note("communication failed");
  minima[0] = first_error_.any() ? static_cast<std::uint64_t>(rank_) : kNobody;
  world_.all_min(minima);
  if (minima[0] == kNobody && !world_.failed()) return true;

  const int speaker = minima[0] == kNobody ? 0 : static_cast<int>(minima[0]);
  std::string text;
  first_error_.collective_step([&] {
    if (speaker == rank_) text = first_error_.text();
  });
  first_error_.collective_step([&] { world_.broadcast(text, speaker); });
  first_error_.collective_step(
      [&] { reason_ = "rank " + std::to_string(speaker) + ": " + text; });
  return false;
}

bool JobRanks::vote() {
  std::uint64_t minima[] = {kNobody};
  return vote(minima);
}

void JobRanks::introduce(const Introduction* me) {
  std::string mine;
  first_error_.local_step([&] {
    if (me != nullptr) mine = encode_introduction(*me);
  });
  std::vector<std::string> all;
  first_error_.collective_step([&] { all = world_.all_gather(mine); });
  first_error_.local_step([&] {
    if (all.size() != static_cast<std::size_t>(world_.size()))
      throw std::runtime_error("a rank did not introduce itself");
    std::vector<Member> members;
    for (const std::string& bytes : all) {
      members_.push_back(decode_introduction(bytes));
      members.push_back(members_.back().member);
    }
    groups_ = group_by_node(members);
  });
}

bool JobRanks::form_groups() {
  first_error_.local_step([&] { made_.reserve(2); });
  auto split = [&](int colour) -> Communicator* {
    std::unique_ptr<Communicator> part;
    first_error_.collective_step([&] { part = world_.split(colour); });
    if (part == nullptr) first_error_.note("no communicator");
    first_error_.local_step([&] { made_.push_back(std::move(part)); });
    return made_.empty() ? nullptr : made_.back().get();
  };
  const auto ranks = static_cast<std::size_t>(world_.size());
  if (groups_.ranks.size() == ranks) {
    leaders_ = &world_;
    node_ = &alone_;
    return true;
  }
  if (groups_.ranks.size() == 1) {
    leaders_ = &alone_;
    node_ = &world_;
    return true;
  }
  leaders_ = split(is_leader() ? 0 : 1);
  node_ = split(static_cast<int>(groups_.group(rank_)));
  return vote();
}

}  // namespace zazen
