// JobRanks: the ranks of a communicator, their introductions, which of them share a node, and
// their votes.
//
// A local step (files, memory) can fail on one rank alone. The failure is caught and noted in
// first_error(). The rank goes on to the next vote, and there all ranks give up together. A
// collective is entered only when a vote has shown that all ranks know its shape. So the
// failure of one rank never makes two ranks disagree about the next operation.
#pragma once
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coord/ranks/communicator.h"
#include "coord/ranks/first_error.h"
#include "coord/ranks/job_messages.h"
#include "coord/ranks/lone_communicator.h"

namespace zazen {

inline constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

// Which ranks share a node. A node is a daemon (D11): ranks that reach the same daemon form a
// group, whose leader is its lowest rank. A rank without a daemon is a group of its own that
// holds nothing. Pure: every rank computes the same result from the same members.
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

class JobRanks {
 public:
  explicit JobRanks(Communicator& world) : world_(world), rank_(world.rank()) {}

  Communicator& world() { return world_; }
  int rank() const { return rank_; }
  FirstError& first_error() { return first_error_; }
  // Why the last vote failed; the same on all ranks.
  const std::string& reason() const { return reason_; }

  // Collective. False if any rank is in trouble. minima: its first element is used by the vote;
  // for the others each rank learns the minimum.
  bool vote(std::span<std::uint64_t> minima);
  bool vote();

  // Collective: exchanges who is there, and on which node. `me` is null if this rank has no
  // introduction. A vote must follow before any decision is based on it: a rank in trouble
  // knows no other rank.
  void introduce(const Introduction* me);
  const std::vector<Introduction>& members() const { return members_; }
  const NodeGroups& groups() const { return groups_; }
  bool is_leader() const { return groups_.is_leader(rank_); }

  // Collective, after a vote. False if it failed.
  bool form_groups();
  Communicator& leaders() { return *leaders_; }  // only on a leader
  Communicator& node() { return *node_; }

 private:
  Communicator& world_;
  const int rank_;
  FirstError first_error_;
  std::string reason_;
  std::vector<Introduction> members_;
  NodeGroups groups_;
  LoneCommunicator alone_;
  std::vector<std::unique_ptr<Communicator>> made_;
  Communicator* leaders_ = nullptr;
  Communicator* node_ = nullptr;
};

}  // namespace zazen
