#include "coord/audit/run_gathering.h"

#include <map>

namespace zazen {

void add_others(const std::vector<std::optional<Fragment>>& others, RunRecord& own) {
  std::map<std::string, FrameSet> opened;
  for (const std::optional<Fragment>& other : others) {
    if (!other) continue;
    own.other_hits += other->hits;
    own.other_misses += other->misses;
    own.other_bytes_local += other->bytes_local;
    own.other_bytes_origin += other->bytes_origin;
    if (!other->whole) own.ledger.overflowed = 1;
    for (const DatasetFragment& dataset : other->datasets)
      opened[dataset.path] = set_union(opened[dataset.path], dataset.opened_frames);
  }
  for (const DatasetFragment& dataset : fragment_of_ledger(own.ledger, 0).datasets)
    opened[dataset.path] = set_difference(opened[dataset.path], dataset.opened_frames);
  for (const auto& [path, frames] : opened) own.other_frames += frames.size();
}

}  // namespace zazen
