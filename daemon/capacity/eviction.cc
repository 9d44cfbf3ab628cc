#include "daemon/capacity/eviction.h"

#include <algorithm>
#include <numeric>

namespace zazen {
namespace {

bool can_give(std::span<const std::uint32_t> datasets, const Room& need,
              std::span<const Room> evictable) {
  Room sum;
  for (std::uint32_t dataset : datasets) {
    sum.bytes += evictable[dataset].bytes;
    sum.files += evictable[dataset].files;
  }
  return sum.covers(need);
}

}  // namespace

void Eviction::note_fills(std::uint64_t fills, std::span<const std::uint32_t> datasets) {
  clock_ += fills;
  for (std::uint32_t i : datasets) used_at_[i] = clock_;
}

std::vector<std::uint32_t> Eviction::longest_unused_first() const {
  std::vector<std::uint32_t> order(used_at_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return used_at_[a] < used_at_[b];
  });
  return order;
}

std::vector<std::uint32_t> Eviction::who_gives_way(std::uint32_t dataset, FrameKind kind,
                                                   Room need, std::span<const Room> evictable,
                                                   Wanted wanted) {
  std::vector<std::uint32_t> all = longest_unused_first();
  if (!can_give(all, need, evictable)) return {};
  if (kind == FrameKind::kNative) return all;

  std::vector<std::uint32_t> idle;
  std::ranges::copy_if(all, std::back_inserter(idle),
                       [&](std::uint32_t i) { return i != dataset && is_idle(i); });
  if (can_give(idle, need, evictable)) return idle;

  if (wanted == Wanted::kLater) return {};
  if (wanted == Wanted::kNow && random_() % kAdmitOneOf != 0) return {};
  // Each alien of the node is as likely to be the first to go as any other.
  std::vector<double> weights;
  for (std::uint32_t i : all) weights.push_back(static_cast<double>(evictable[i].files));
  std::discrete_distribution<std::size_t> pick(weights.begin(), weights.end());
  auto first = all.begin() + static_cast<std::ptrdiff_t>(pick(random_));
  std::rotate(all.begin(), first, first + 1);
  return all;
}

}  // namespace zazen
