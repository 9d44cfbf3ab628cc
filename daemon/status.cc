#include "daemon/status.h"

#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace zazen {
namespace {

nlohmann::ordered_json ranges_json(const std::vector<FrameRange>& ranges) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FrameRange& range : ranges) list.push_back({range.first, range.last});
  return list;
}

}  // namespace

std::vector<std::string> find_problems(const Config& config, OriginThreads& origins) {
  constexpr std::chrono::milliseconds kLimit(250);
  std::vector<std::string> problems;
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    if (config.datasets[i].removed) continue;
    auto look = [path = config.datasets[i].path] {
      struct stat st = {};
      if (::stat(path.c_str(), &st) != 0) return errno;
      return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    };
    int code = origins.ask(i, look, kLimit);
    if (code == 0) continue;
    std::string why = code == ETIMEDOUT ? "the origin does not answer"
                      : code == ENOTDIR ? "not a directory"
                                        : std::strerror(code);
    problems.push_back("dataset " + config.datasets[i].path + ": " + why);
  }
  return problems;
}

namespace {

// Pushes from other machines; null if the node does not listen.
nlohmann::ordered_json network_json(const Config& config, const PushCounts& pushes) {
  if (config.listen.empty()) return {};
  const std::int64_t old_key_until = pushes.old_key_until;
  return {{"listen", config.listen},
          {"connections", pushes.connections.load()},
          {"refused", pushes.refused.load()},
          {"frames", pushes.frames.load()},
          {"failed", pushes.failed.load()},
          {"bytes", pushes.bytes.load()},
          {"old_key_until", old_key_until == 0 ? nlohmann::ordered_json()
                                               : nlohmann::ordered_json(old_key_until)}};
}

// Pushes of what programs of this node wrote to the origin.
nlohmann::ordered_json writer_json(const WrittenFrames& written, OwnWriter& writer) {
  Writer::Figures figures = writer.figures();
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const Writer::NodeFigures& node : writer.nodes()) {
    nodes.push_back({{"peer", node.peer},
                     {"pushed", node.pushed},
                     {"bytes", node.bytes},
                     {"answers", node.answers}});
  }
  return {{"being_written", written.count()},
          {"queued", figures.queued + written.dropped()},
          {"pushed", figures.pushed},
          {"dropped", figures.dropped + written.dropped()},
          {"left", figures.left},
          {"waiting", figures.waiting},
          {"bytes", figures.bytes},
          {"nodes", nodes}};
}

// Changed frames: what this node tells its peers, and what they tell it.
nlohmann::ordered_json changes_json(const PeerChanges& changes) {
  ReportedChanges::Figures reported = changes.reported();
  nlohmann::ordered_json peers = nlohmann::ordered_json::array();
  for (const ChangeNotices::PeerFigures& peer : changes.peers()) {
    peers.push_back({{"peer", peer.peer},
                     {"told", peer.told},
                     {"waiting", peer.waiting},
                     {"failure", peer.failure.empty() ? nlohmann::ordered_json()
                                                      : nlohmann::ordered_json(peer.failure)}});
  }
  return {{"watched", changes.watched()}, {"peers", peers},
          {"notices", reported.notices},  {"frames", reported.frames},
          {"dropped", reported.dropped},  {"doubts", reported.doubts}};
}

// How far the pass is, and when the last one ended (seconds since 1970; null: none has yet).
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

}  // namespace

std::string status_json(const Config& config, const Store& store, const Publisher& publisher,
                        Filler& filler, const PushCounts& pushes, const SweepProgress& sweep,
                        const WrittenFrames& written, OwnWriter& writer,
                        const PeerChanges& changes, std::int64_t uptime_seconds,
                        std::uint64_t copies_read) {
  FillCounts fills = filler.counts();
  StoreUsage usage = store.usage();
  std::vector<std::string> problems = find_problems(config, filler.origins());
  if (std::string why = store.health().problem(); !why.empty()) {
    problems.insert(problems.begin(), "cache " + config.cache + " is out of use: " + why);
  }
  std::uint64_t hits = 0, misses = 0;
  nlohmann::ordered_json datasets = nlohmann::ordered_json::array();
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    const DatasetUsage& held = usage.datasets[i];
    Publisher::Uses uses = publisher.uses(i);
    hits += uses.hits;
    misses += uses.misses;
    if (config.datasets[i].removed) continue;
    datasets.push_back({{"position", i},
                        {"path", config.datasets[i].path},
                        {"frames", config.datasets[i].frames},
                        {"native", held.natives},
                        {"alien", held.aliens},
                        {"waiting", store.waiting(i)},
                        {"bytes", held.bytes},
                        {"pinned", held.pinned},
                        {"pins", ranges_json(held.pins)},
                        {"hits", uses.hits},
                        {"misses", uses.misses},
                        {"push", config.datasets[i].push.get()},
                        {"checks_each_open", publisher.checks_each_open(i)}});
  }
  nlohmann::ordered_json status = {{"node", config.node},
                                   {"version", ZAZEN_VERSION},
                                   {"pid", ::getpid()},
                                   {"uptime_seconds", uptime_seconds},
                                   {"healthy", problems.empty()},
                                   {"problems", problems},
                                   {"cache", config.cache},
                                   {"runtime", config.runtime},
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
                                   {"network", network_json(config, pushes)},
                                   {"writer", writer_json(written, writer)},
                                   {"changes", changes_json(changes)},
                                   {"fills_dropped", fills.dropped},
                                   {"fills_failed", fills.failed},
                                   {"fills_under_way", fills.under_way},
                                   {"copied_bytes", fills.bytes},
                                   {"sweep", sweep_json(config, usage, sweep)},
                                   {"read_in", copies_read},
                                   {"datasets", datasets}};
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace zazen
