#include "daemon/service/dataset_uses.h"

#include <algorithm>
#include <utility>

namespace zazen {

void DatasetUses::note_ask(uid_t uid, std::uint32_t dataset, bool is_miss) {
  std::lock_guard lock(mutex_);
  used_.set(dataset);
  if (is_miss && (fills_.contains(uid) || fills_.size() < kMostUsers)) ++fills_[uid];
}

DatasetUses::Look DatasetUses::look(const std::vector<std::pair<std::uint32_t, uid_t>>& hit) {
  Look look;
  std::lock_guard lock(mutex_);
  for (const auto& [dataset, uid] : hit) {
    if (uid == own_uid_) used_.set(dataset);
  }
  std::uint64_t fills = 0;
  for (const auto& [uid, asked] : std::exchange(fills_, {})) {
    fills += uid == own_uid_ ? asked : std::min(asked, kMostFills);
  }
  look.fills = std::exchange(next_fills_, fills);
  if (look.fills > 0) known_.reset();
  known_ |= used_;
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) {
    if (used_[i]) look.used.push_back(i);
  }
  used_.reset();
  // While the clock stands still, what is known stays true: no origin is asked.
  for (const auto& [dataset, uid] : hit) {
    if (uid != own_uid_ && (fills > 0 || !known_[dataset])) look.said[uid].push_back(dataset);
  }
  return look;
}

}  // namespace zazen
