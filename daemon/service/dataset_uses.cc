#include "daemon/service/dataset_uses.h"

#include <algorithm>
#include <utility>

namespace zazen {

void DatasetUses::note_ask(uid_t uid, std::uint32_t dataset, bool is_miss) {
  std::lock_guard lock(mutex_);
  used_.set(dataset);
  auto user = users_.find(uid);
  if (user == users_.end() && users_.size() >= kMostUsers) return;
  if (user == users_.end()) user = users_.try_emplace(uid).first;
  user->second.has_asked.set(dataset);
  if (is_miss) ++user->second.fills;
}

DatasetUses::Since DatasetUses::take(const std::vector<std::pair<std::uint32_t, uid_t>>& hit) {
  Since since;
  std::lock_guard lock(mutex_);
  for (auto& [uid, user] : users_) {
    const std::uint64_t fills = std::exchange(user.fills, 0);
    since.fills += uid == own_uid_ ? fills : std::min(fills, kMostFills);
  }
  for (const auto& [dataset, uid] : hit) {
    const auto user = users_.find(uid);
    const bool counts =
        uid == own_uid_ || (user != users_.end() && user->second.has_asked[dataset]);
    if (counts) used_.set(dataset);
  }
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) {
    if (used_[i]) since.used.push_back(i);
  }
  used_.reset();
  return since;
}

}  // namespace zazen
