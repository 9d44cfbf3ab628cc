// Activity: the work of a node between two looks at its status, for `zazenctl top`.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace zazen {

struct OpenCounts {
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t opens() const { return hits + misses; }
  std::optional<double> hit_rate() const;  // nothing: there were no opens
};

struct DatasetActivity : OpenCounts {
  std::string path;
  std::uint64_t native = 0, alien = 0, bytes = 0;
};

struct Activity : OpenCounts {
  bool since_start = false;  // the first look, or the last one was at another daemon
  double seconds = 0;        // between the looks, or since the daemon's start
  std::uint64_t fills = 0, pushes = 0, fills_failed = 0, copied_bytes = 0, evictions = 0;
  std::uint64_t fills_under_way = 0;      // at the second look
  std::vector<DatasetActivity> datasets;  // most opens first, then by path
};

// The statuses are Client::status()'s; throws nlohmann's exceptions if one is invalid.
Activity activity_between(const nlohmann::ordered_json* before,
                          const nlohmann::ordered_json& now, double seconds);

}  // namespace zazen
