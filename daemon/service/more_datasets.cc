#include "daemon/service/more_datasets.h"

#include <algorithm>

#include "daemon/process/log.h"

namespace zazen {
namespace {

// A directory that a block names, or an earlier pattern, is no news.
void join_and_log(const std::vector<DatasetConfig>& more, const FollowLinks& follow,
                  const char* from, Config* config) {
  for (const LeftOut& each : join_datasets(more, follow, config)) {
    log_line(LogLevel::kWarn, "dataset_left_out",
             {{"path", each.path}, {"from", from}, {"why", each.why}});
  }
}

}  // namespace

void add_datasets_of_users(const UserDatasets& users, const FollowLinks& follow,
                           Config* config) {
  if (!config->takes_datasets_of_users()) return;
  join_and_log(users.all(), follow, "zazenctl add", config);
}

void add_datasets_of_patterns(const std::vector<ExpandedPath>& expanded, const Config* before,
                              const FollowLinks& follow, Config* config) {
  for (std::size_t i = 0; i < expanded.size() && i < config->patterns.size(); ++i) {
    const DatasetConfig& pattern = config->patterns[i];
    std::vector<std::string> paths = expanded[i].paths;
    if (!expanded[i].is_known && before != nullptr) {
      log_line(LogLevel::kWarn, "directories_unknown",
               {{"path", pattern.path}, {"what", "its file system has not answered"}});
      for (const DatasetConfig& known : before->datasets) {
        if (!known.removed && path_matches(known.path, pattern.path))
          paths.push_back(known.path);
      }
    }
    std::vector<DatasetConfig> more;
    for (const std::string& path : paths) {
      // A worker says so, which zazend takes for hostile.
      if (!path_matches(path, pattern.path) || config->dataset_at(path) != nullptr) continue;
      more.push_back(pattern);
      more.back().path = path;
    }
    if (before != nullptr) {
      join_and_log(more, follow, pattern.path.c_str(), config);
    } else {
      join_datasets(more, follow, config);
    }
  }
}

Config served_part(const Config& config) {
  Config served = config;
  served.datasets.clear();
  for (const DatasetConfig& each : config.datasets) {
    if (!each.removed) served.datasets.push_back(each);
  }
  return served;
}

}  // namespace zazen
