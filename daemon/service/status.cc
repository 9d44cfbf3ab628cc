#include "daemon/service/status.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/service/reload.h"

namespace zazen {
namespace {

nlohmann::ordered_json ranges_json(const std::vector<FrameRange>& ranges) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FrameRange& range : ranges) list.push_back({range.first, range.last});
  return list;
}

// Pushes from other machines; null if the node does not listen.
nlohmann::ordered_json network_json(const Config& config, const PushOutcomes& pushes,
                                    const WorkerFigures& listener, std::int64_t old_key_until) {
  if (config.listen.empty()) return {};
  return {{"listen", config.listen},
          {"connections", listener.connections},
          {"refused", listener.refused},
          {"frames", pushes.durable.load()},
          {"failed", pushes.failed.load()},
          {"bytes", listener.push_bytes},
          {"old_key_until", old_key_until == 0 ? nlohmann::ordered_json()
                                               : nlohmann::ordered_json(old_key_until)}};
}

// Pushes of frames that programs of this node wrote to the origin.
nlohmann::ordered_json writer_json(const WorkerFigures& figures) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const NodeFigures& node : figures.nodes) {
    nodes.push_back({{"peer", node.peer},
                     {"pushed", node.pushed},
                     {"bytes", node.bytes},
                     {"answers", node.answers}});
  }
  return {{"being_written", figures.being_written},
          {"queued", figures.queued + figures.written_dropped},
          {"pushed", figures.pushed},
          {"dropped", figures.dropped + figures.written_dropped},
          {"left", figures.left},
          {"waiting", figures.waiting},
          {"bytes", figures.bytes},
          {"nodes", nodes}};
}

// Changed frames: the notices that this node sends to its peers, and those that it receives.
nlohmann::ordered_json changes_json(const PeerChanges& changes, const WorkerFigures& workers) {
  ReportedChanges::Figures reported = changes.reported();
  nlohmann::ordered_json peers = nlohmann::ordered_json::array();
  for (const PeerFigures& peer : workers.peers) {
    peers.push_back({{"peer", peer.peer},
                     {"told", peer.told},
                     {"waiting", peer.waiting},
                     {"failure", peer.failure.empty() ? nlohmann::ordered_json()
                                                      : nlohmann::ordered_json(peer.failure)}});
  }
  return {{"watched", workers.watched},  {"peers", peers},
          {"notices", reported.notices}, {"frames", reported.frames},
          {"dropped", reported.dropped}, {"doubts", reported.doubts}};
}

// The progress of the pass, and the end of the last one (seconds since 1970; null: none has
// ended).
nlohmann::ordered_json sweep_json(const Config& config, const StoreUsage& usage,
                                  const SweepProgress& sweep) {
  return {{"period_seconds", static_cast<double>(config.sweep_ms) / 1000},
          {"passes", sweep.passes},
          {"last_ended", sweep.ended_at == 0 ? nlohmann::ordered_json()
                                             : nlohmann::ordered_json(sweep.ended_at)},
          {"compared", sweep.compared},
          {"of", usage.files},
          {"stale", sweep.stale}};
}

// "measured": the cost of a seek decides instead of the configuration. seek_ms is null if
// unknown.
nlohmann::ordered_json read_order_json(const ReadOrder::State& state) {
  return {{"ordered", state.is_ordered},
          {"measured", state.is_measured},
          {"seek_ms",
           state.seek_ms ? nlohmann::ordered_json(*state.seek_ms) : nlohmann::ordered_json()}};
}

// When the file was loaded, when it was changed after that, and the reload that has failed
// since (seconds since 1970, or null).
nlohmann::ordered_json configuration_json(const Config& config,
                                          const ConfigurationState& state) {
  nlohmann::ordered_json failed, changed_at;
  if (state.failed) {
    failed = {{"at", state.failed->ended_at},
              {"reason", state.failed->error->context},
              {"hint", state.failed->error->hint}};
  }
  if (state.changed_at != 0) changed_at = state.changed_at;
  return {{"file", config.file},
          {"loaded_at", state.loaded_at},
          {"changed_at", changed_at},
          {"failed", failed}};
}

}  // namespace

void add_figures(const WorkerFigures& more, WorkerFigures* sum) {
  sum->fills_dropped += more.fills_dropped;
  sum->fills_queued += more.fills_queued;
  sum->being_written += more.being_written;
  sum->written_dropped += more.written_dropped;
  sum->watched += more.watched;
  sum->queued += more.queued;
  sum->pushed += more.pushed;
  sum->dropped += more.dropped;
  sum->left += more.left;
  sum->waiting += more.waiting;
  sum->bytes += more.bytes;
  sum->connections += more.connections;
  sum->refused += more.refused;
  sum->push_bytes += more.push_bytes;
  sum->peers.insert(sum->peers.end(), more.peers.begin(), more.peers.end());
  for (const NodeFigures& node : more.nodes) {
    auto known = std::ranges::find(sum->nodes, node.peer, &NodeFigures::peer);
    if (known == sum->nodes.end()) {
      sum->nodes.push_back(node);
      continue;
    }
    known->pushed += node.pushed;
    known->bytes += node.bytes;
    // The writer that asked a node last says whether it answers.
    if (node.known_at_ns < known->known_at_ns) continue;
    known->answers = node.answers;
    known->known_at_ns = node.known_at_ns;
  }
}

std::string status_json(StatusFacts facts) {
  const auto& [config, store, publisher, trust, fills, workers, worker_count, pushes,
               old_key_until, sweep, changes, uptime_seconds, reads, bytes_read, reload,
               origins, poor_place] = facts;
  StoreUsage usage = store.usage();
  std::vector<std::string> problems = origins.problems, warnings = origins.warnings;
  if (std::string why = store.health().problem(); !why.empty()) {
    problems.insert(problems.begin(), "cache " + config.cache + " is out of use: " + why);
  }
  const ConfigurationState loaded = reload.state();
  problems.insert(problems.end(), loaded.problems.begin(), loaded.problems.end());
  if (!poor_place.empty()) {
    warnings.insert(warnings.begin(), "cache " + config.cache + ": " + poor_place);
  }
  std::uint64_t hits = 0, misses = 0;
  nlohmann::ordered_json datasets = nlohmann::ordered_json::array();
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    const DatasetUsage& held = usage.datasets[i];
    Publisher::Uses uses = publisher.uses(i);
    const BytesRead::Figures read = bytes_read.of(i);
    hits += uses.hits;
    misses += uses.misses;
    if (config.datasets[i].removed) continue;
    datasets.push_back({{"position", i},
                        {"path", config.datasets[i].path},
                        {"frames", config.datasets[i].frames},
                        {"also", config.datasets[i].also_patterns()},
                        {"native", held.natives},
                        {"alien", held.aliens},
                        {"waiting", store.waiting(i)},
                        {"bytes", held.bytes},
                        {"pinned", held.pinned},
                        {"pins", ranges_json(held.pins)},
                        {"hits", uses.hits},
                        {"misses", uses.misses},
                        {"read_bytes", {{"cache", read.cache}, {"origin", read.origin}}},
                        {"push", config.datasets[i].push.get()},
                        {"checks_each_open", trust.is_in_doubt(i)}});
  }
  nlohmann::ordered_json status = {
      {"node", config.node},
      {"version", ZAZEN_VERSION},
      {"pid", ::getpid()},
      {"uptime_seconds", uptime_seconds},
      {"healthy", problems.empty()},
      {"problems", problems},
      {"warnings", warnings},
      {"cache", config.cache},
      {"runtime", config.runtime},
      {"configuration", configuration_json(config, loaded)},
      {"capacity_bytes", config.capacity_bytes.get()},
      {"used_bytes", usage.bytes},
      {"used_files", usage.files},
      {"hits", hits},
      {"misses", misses},
      {"evictions", usage.evictions},
      {"stopped_cleanly", store.stopped_cleanly()},
      {"reconciled", store.is_reconciled()},
      {"fills", fills.fills},
      {"pushes", fills.pushes},
      {"network", network_json(config, pushes, workers, old_key_until)},
      {"writer", writer_json(workers)},
      {"changes", changes_json(changes, workers)},
      {"fills_dropped", workers.fills_dropped},
      {"fills_failed", fills.failed},
      {"fills_under_way", fills.under_way + workers.fills_queued},
      {"copied_bytes", fills.bytes},
      {"sweep", sweep_json(config, usage, sweep)},
      {"read_in", reads.copies_read()},
      {"read_order", read_order_json(reads.state())},
      {"workers", worker_count},
      {"datasets", datasets}};
  // A path need not be UTF-8; invalid bytes become U+FFFD.
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace zazen
