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

std::vector<std::string> find_problems(const Config& config) {
  std::vector<std::string> problems;
  for (const DatasetConfig& dataset : config.datasets) {
    struct stat st = {};
    if (::stat(dataset.path.c_str(), &st) != 0) {
      problems.push_back("dataset " + dataset.path + ": " + std::strerror(errno));
    } else if (!S_ISDIR(st.st_mode)) {
      problems.push_back("dataset " + dataset.path + ": not a directory");
    }
  }
  return problems;
}

std::string status_json(const Config& config, const Store& store, const Publisher& publisher,
                        const FillCounts& fills, std::int64_t uptime_seconds,
                        std::uint64_t copies_read) {
  StoreUsage usage = store.usage();
  std::vector<std::string> problems = find_problems(config);
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
    datasets.push_back({{"path", config.datasets[i].path},
                        {"frames", config.datasets[i].frames},
                        {"native", held.natives},
                        {"alien", held.aliens},
                        {"bytes", held.bytes},
                        {"pinned", held.pinned},
                        {"pins", ranges_json(held.pins)},
                        {"hits", uses.hits},
                        {"misses", uses.misses}});
  }
  nlohmann::ordered_json status = {{"node", config.node},
                                   {"version", ZAZEN_VERSION},
                                   {"pid", ::getpid()},
                                   {"uptime_seconds", uptime_seconds},
                                   {"healthy", problems.empty()},
                                   {"problems", problems},
                                   {"cache", config.cache},
                                   {"runtime", config.runtime},
                                   {"capacity_bytes", config.capacity_bytes},
                                   {"used_bytes", usage.bytes},
                                   {"used_files", usage.files},
                                   {"hits", hits},
                                   {"misses", misses},
                                   {"evictions", usage.evictions},
                                   {"fills", fills.fills},
                                   {"pushes", fills.pushes},
                                   {"fills_dropped", fills.dropped},
                                   {"fills_failed", fills.failed},
                                   {"read_in", copies_read},
                                   {"datasets", datasets}};
  // A path need not be UTF-8; what is not becomes U+FFFD.
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace zazen
