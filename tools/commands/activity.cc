#include "tools/commands/activity.h"

#include <algorithm>
#include <tuple>

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

// The counter of another daemon, or of a dataset that was added, began at 0.
std::uint64_t grown(const Json* before, const Json& now, const char* key) {
  std::uint64_t value = now.at(key);
  std::uint64_t then = before == nullptr ? 0 : before->at(key).get<std::uint64_t>();
  return value >= then ? value - then : value;
}

const Json* same_dataset(const Json* before, const Json& dataset) {
  if (before == nullptr) return nullptr;
  for (const Json& other : before->at("datasets")) {
    if (other.at("path") == dataset.at("path")) return &other;
  }
  return nullptr;
}

}  // namespace

std::optional<double> OpenCounts::hit_rate() const {
  if (opens() == 0) return std::nullopt;
  return static_cast<double>(hits) / static_cast<double>(opens());
}

Activity activity_between(const Json* before, const Json& now, double seconds) {
  if (before != nullptr && before->at("pid") != now.at("pid")) before = nullptr;
  Activity activity;
  activity.since_start = before == nullptr;
  activity.seconds = before == nullptr ? now.at("uptime_seconds").get<double>() : seconds;
  activity.hits = grown(before, now, "hits");
  activity.misses = grown(before, now, "misses");
  activity.fills = grown(before, now, "fills");
  activity.pushes = grown(before, now, "pushes");
  activity.fills_failed = grown(before, now, "fills_failed");
  activity.copied_bytes = grown(before, now, "copied_bytes");
  activity.evictions = grown(before, now, "evictions");
  activity.fills_under_way = now.at("fills_under_way");
  for (const Json& dataset : now.at("datasets")) {
    const Json* then = same_dataset(before, dataset);
    DatasetActivity& added = activity.datasets.emplace_back();
    added.path = dataset.at("path");
    added.hits = grown(then, dataset, "hits");
    added.misses = grown(then, dataset, "misses");
    added.native = dataset.at("native");
    added.alien = dataset.at("alien");
    added.bytes = dataset.at("bytes");
  }
  std::ranges::sort(activity.datasets, [](const DatasetActivity& a, const DatasetActivity& b) {
    return std::tuple(b.opens(), a.path) < std::tuple(a.opens(), b.path);
  });
  return activity;
}

}  // namespace zazen
