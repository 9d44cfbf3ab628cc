#include "tools/serve/watched_nodes.h"

#include <nlohmann/json.hpp>

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

// Throws an exception of the JSON library if that is no status.
NodeState state_of(const Json& status) {
  NodeState state;
  state.name = status.at("node");
  state.is_healthy = status.at("healthy");
  state.problems = status.at("problems").get<std::vector<std::string>>();
  state.warnings = status.at("warnings").get<std::vector<std::string>>();
  state.pid = status.at("pid");
  state.uptime_seconds = status.at("uptime_seconds");
  state.capacity_bytes = status.at("capacity_bytes");
  state.used_bytes = status.at("used_bytes");
  state.used_files = status.at("used_files");
  state.hits = status.at("hits");
  state.misses = status.at("misses");
  state.evictions = status.at("evictions");
  state.fills_under_way = status.at("fills_under_way");
  for (const Json& dataset : status.at("datasets")) {
    state.datasets[dataset.at("path")] = {dataset.at("native"), dataset.at("alien"),
                                          dataset.at("bytes"),  dataset.at("pinned"),
                                          dataset.at("hits"),   dataset.at("misses")};
  }
  return state;
}

}  // namespace

std::vector<NodeState> WatchedNodes::look(EveryNode& nodes) {
  const std::vector<NodeAnswer> answers =
      nodes.ask(EveryNode::Limit::kOverall, [](Client& client, std::size_t) -> Result<Json> {
        Result<std::string> text = client.status();
        if (!text) return text.error();
        Json status = Json::parse(*text);
        state_of(status);  // or this is no answer
        return status;
      });
  std::vector<NodeState> states;
  for (const NodeAnswer& answer : answers) {
    if (answer.is_fine()) {
      states.push_back(state_of(answer.figures));
    } else {
      states.push_back({.name = answer.node.name, .failure = answer.failure});
    }
  }
  return states;
}

void WatchedNodes::take(std::vector<NodeState> nodes, std::int64_t now_ns) {
  std::lock_guard lock(mutex_);
  std::uint64_t hits = 0, opens = 0;
  for (const NodeState& node : nodes) {
    if (!node.answers()) continue;
    const Counters now = {node.pid, node.hits, node.misses};
    const auto [before, is_new] = before_.insert({node.name, now});
    Counters& then = before->second;
    // The counters of another daemon began at 0.
    if (then.pid != now.pid) then = {now.pid, 0, 0};
    if (!is_new && now.hits >= then.hits && now.misses >= then.misses) {
      hits += now.hits - then.hits;
      opens += now.hits - then.hits + now.misses - then.misses;
    }
    then = now;
  }
  std::optional<double> share;
  if (opens > 0) share = static_cast<double>(hits) / static_cast<double>(opens);
  shares_.push_back(share);
  if (shares_.size() > kMostLooks) shares_.pop_front();
  nodes_ = std::move(nodes);
  looked_ns_ = now_ns;
}

NodesView WatchedNodes::view() const {
  std::lock_guard lock(mutex_);
  return {nodes_, {shares_.begin(), shares_.end()}, looked_ns_};
}

}  // namespace zazen
