#include "daemon/young_copies.h"

#include <time.h>

#include <algorithm>

namespace zazen {

bool changed_lately(const struct stat& file) {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return (now.tv_sec - file.st_mtim.tv_sec) * 1000 < kYoungMs;
}

void YoungCopies::note(std::uint32_t dataset, FrameSeq seq, std::int64_t now_ms) {
  std::lock_guard lock(mutex_);
  copies_.push_back({dataset, seq, now_ms + kYoungMs});
  mark_(dataset, ++counts_[dataset]);
}

std::vector<FrameSeq> YoungCopies::due(std::uint32_t dataset, std::int64_t now_ms) const {
  std::lock_guard lock(mutex_);
  std::vector<FrameSeq> frames;
  for (const Copy& copy : copies_) {
    if (copy.due_ms > now_ms) break;
    if (copy.dataset == dataset) frames.push_back(copy.seq);
  }
  return frames;
}

void YoungCopies::settle(std::uint32_t dataset, const std::vector<FrameSeq>& frames,
                         std::int64_t now_ms) {
  std::vector<FrameSeq> sorted = frames;
  std::ranges::sort(sorted);
  std::lock_guard lock(mutex_);
  std::size_t settled = std::erase_if(copies_, [&](const Copy& copy) {
    return copy.dataset == dataset && copy.due_ms <= now_ms &&
           std::ranges::binary_search(sorted, copy.seq);
  });
  mark_(dataset, counts_[dataset] -= static_cast<std::uint32_t>(settled));
}

}  // namespace zazen
