// WatchedNodes: what nodes said when they were asked last, and the share of opens that their
// caches served in the last hour. A thread asks every few seconds; only the latest answers and
// one number for each look are kept. Thread safe.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/cluster/every_node.h"

namespace zazen {

struct DatasetState {
  std::uint64_t native = 0, alien = 0, bytes = 0, pinned = 0, hits = 0, misses = 0;
};

struct NodeState {
  std::string name;
  std::string failure;  // why nothing else is known; "" if it is
  bool is_healthy = false;
  std::vector<std::string> problems, warnings;
  std::uint64_t pid = 0, uptime_seconds = 0;
  std::uint64_t capacity_bytes = 0, used_bytes = 0, used_files = 0;
  std::uint64_t hits = 0, misses = 0, evictions = 0, fills_under_way = 0;
  std::map<std::string, DatasetState> datasets;  // by path

  bool answers() const { return failure.empty(); }
  bool is_fine() const { return answers() && is_healthy && problems.empty(); }
};

struct NodesView {
  std::vector<NodeState> nodes;               // empty: nothing is known yet
  std::vector<std::optional<double>> shares;  // one for each look; nothing: no opens
  std::int64_t looked_ns = 0;                 // since 1970
};

class WatchedNodes {
 public:
  static constexpr int kPeriodSeconds = 5;
  static constexpr std::size_t kMostLooks = 720;  // an hour

  // Asks the nodes; the one place that says what is known of them.
  static std::vector<NodeState> look(EveryNode& nodes);
  void take(std::vector<NodeState> nodes, std::int64_t now_ns);
  NodesView view() const;

 private:
  struct Counters {
    std::uint64_t pid, hits, misses;
  };
  mutable std::mutex mutex_;
  std::vector<NodeState> nodes_;
  std::map<std::string, Counters> before_;  // by node
  std::deque<std::optional<double>> shares_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace zazen
