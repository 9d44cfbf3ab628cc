#include "bodhi/config/dataset_places.h"

#include <fmt/format.h>

#include "bodhi/lean/frames/table.h"

namespace zazen {
namespace {

// By components: "/sim10" is not inside "/sim1".
bool is_inside(const std::string& inner, const std::string& outer) {
  return inner.size() >= outer.size() && inner.compare(0, outer.size(), outer) == 0 &&
         (inner.size() == outer.size() || inner[outer.size()] == '/');
}

bool is_inside(const Place& inner, const Place& outer) {
  return is_inside(inner.path, outer.path) || is_inside(inner.resolved, outer.resolved);
}

}  // namespace

std::optional<Overlap> DatasetPlaces::take(const Place& dataset) {
  std::optional<Overlap> overlap = find_overlap(dataset);
  if (!overlap) taken_.push_back(dataset);
  return overlap;
}

std::optional<Overlap> DatasetPlaces::find_overlap(const Place& dataset) const {
  for (const Place& other : taken_) {
    const bool is_inner = is_inside(dataset, other);
    const bool is_outer = is_inside(other, dataset);
    if (is_inner && is_outer) {
      return Overlap{fmt::format("dataset '{}' is the same as '{}'", dataset.path, other.path),
                     {}};
    }
    if (is_inner || is_outer) {
      return Overlap{fmt::format("dataset '{}' is inside dataset '{}'",
                                 is_inner ? dataset.path : other.path,
                                 is_inner ? other.path : dataset.path),
                     "one dataset with a template such as \"run1/f{seq}\" may do"};
    }
  }
  if (is_inside(cache_, dataset)) {
    return Overlap{
        fmt::format("the cache '{}' is inside dataset '{}'", cache_.path, dataset.path), {}};
  }
  if (is_inside(runtime_, dataset)) {
    return Overlap{fmt::format("the runtime directory '{}' is inside dataset '{}'",
                               runtime_.path, dataset.path),
                   {}};
  }
  if (is_inside(dataset.path, std::string("/") + kDatasetStateDirectory)) {
    return Overlap{
        fmt::format("dataset '{}' would lie in the cache's own directory", dataset.path), {}};
  }
  if (is_inside(dataset, cache_)) {
    return Overlap{
        fmt::format("dataset '{}' is inside the cache '{}'", dataset.path, cache_.path), {}};
  }
  return std::nullopt;
}

}  // namespace zazen
