#include "daemon/worker/changes/notice_queue.h"

#include <algorithm>

namespace zazen {

void NoticeQueue::add(std::uint32_t dataset, FrameSeq seq, const News& news) {
  if (distrusted_.contains(dataset)) return distrust(dataset);
  count_ += frames_[dataset].insert_or_assign(seq, news).second;
  if (count_ <= kMostFrames) return;
  auto largest = std::ranges::max_element(
      frames_, {}, [](const auto& entry) { return entry.second.size(); });
  distrust(largest->first);
}

void NoticeQueue::distrust(std::uint32_t dataset) {
  if (auto waiting = frames_.extract(dataset); !waiting.empty()) {
    count_ -= waiting.mapped().size();
  }
  distrusted_[dataset] = ++last_generation_;
}

void NoticeQueue::clear() {
  greets_ = false;
  distrusted_.clear();
  frames_.clear();
  count_ = 0;
}

std::optional<NoticeQueue::Batch> NoticeQueue::next(std::size_t most_frames) const {
  if (greets_) return Batch{};
  if (!distrusted_.empty()) {
    const auto [dataset, generation] = *distrusted_.begin();
    return Batch{NoticeKind::kDistrust, dataset, {}, generation};
  }
  if (frames_.empty()) return std::nullopt;
  const auto& [dataset, waiting] = *frames_.begin();
  Batch batch{NoticeKind::kFrames, dataset, {}, 0};
  for (auto it = waiting.begin(); it != waiting.end() && batch.frames.size() < most_frames;
       ++it)
    batch.frames.emplace_back(*it);
  return batch;
}

void NoticeQueue::delivered(const Batch& batch) {
  if (batch.kind == NoticeKind::kHello) greets_ = false;
  if (auto found = distrusted_.find(batch.dataset); batch.kind == NoticeKind::kDistrust &&
                                                    found != distrusted_.end() &&
                                                    found->second == batch.generation) {
    distrusted_.erase(found);
  }
  auto found = frames_.find(batch.dataset);
  if (batch.kind != NoticeKind::kFrames || found == frames_.end()) return;
  for (const auto& [seq, news] : batch.frames) {
    auto waiting = found->second.find(seq);
    if (waiting == found->second.end() || waiting->second.version != news.version) continue;
    found->second.erase(waiting);
    --count_;
  }
  if (found->second.empty()) frames_.erase(found);
}

}  // namespace zazen
