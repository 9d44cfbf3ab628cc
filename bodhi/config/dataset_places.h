// Where the directories of a configuration may lie: no dataset inside another one, nor inside
// the cache, and neither the cache nor the runtime directory inside a dataset.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace zazen {

// A directory: its path as written, and the path after links are followed.
struct Place {
  std::string path;
  std::string resolved;
};

struct Overlap {
  std::string text;  // "dataset '/sim1/run' is inside dataset '/sim1'"
  std::string hint;
};

class DatasetPlaces {
 public:
  DatasetPlaces(Place cache, Place runtime)
      : cache_(std::move(cache)), runtime_(std::move(runtime)) {}

  // Nothing if the dataset may lie there; then the next ones may not overlap it.
  std::optional<Overlap> take(const Place& dataset);

 private:
  std::optional<Overlap> find_overlap(const Place& dataset) const;

  Place cache_, runtime_;
  std::vector<Place> taken_;
};

}  // namespace zazen
