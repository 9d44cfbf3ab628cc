// A selection takes every n-th frame of a run, or none, depending on the remainders.
#include "coord/sets/domain.h"

#include <algorithm>
#include <numeric>

namespace zazen {

Domain::Domain(std::span<const FrameRun> listing, Selection selection) : selection_(selection) {
  if (!selection_.begin && selection_.stride != 1 && !listing.empty())
    selection_.begin = listing.front().first;
  std::uint64_t position = 0;
  for (const FrameRun& run : listing) {
    add(run, position);
    position += run.count;
  }
}

Domain Domain::range(FrameSeq begin, FrameSeq end, std::uint64_t stride) {
  Domain domain;
  domain.selection_ = {begin, end, stride};
  const std::uint64_t count = (end - begin) / stride + 1;
  domain.runs_.push_back({begin, stride, count, 0, 0, 1});
  domain.size_ = count;
  return domain;
}

void Domain::add(const FrameRun& run, std::uint64_t position) {
  // Frames k with low <= k < high lie between begin and end.
  const auto& [wanted_begin, end, stride] = selection_;
  const FrameSeq begin = wanted_begin.value_or(0);
  std::uint64_t low = 0, high = run.count;
  if (begin > run.first) low = (begin - run.first - 1) / run.stride + 1;
  if (end) {
    if (*end < run.first) return;
    high = std::min(high, (*end - run.first) / run.stride + 1);
  }
  // Either every `step`-th of these is a multiple of the stride away from begin, or none is.
  const std::uint64_t step = stride / std::gcd(run.stride, stride);
  const std::uint64_t tried = low + std::min(step, high - std::min(low, high));
  while (low < tried && (run.first + low * run.stride - begin) % stride != 0) ++low;
  if (low >= high || low == tried) return;

  const std::uint64_t count = (high - low - 1) / step + 1;
  // A single frame has no stride to overflow.
  runs_.push_back({run.first + low * run.stride, count == 1 ? 1 : run.stride * step, count,
                   size_, position + low, step});
  size_ += count;
}

bool DomainFinder::find_run(FrameSeq seq) {
  auto after = std::ranges::upper_bound(runs_, seq, {}, &DomainRun::first);
  if (after == runs_.begin()) return false;
  const DomainRun& run = *(after - 1);
  if (seq - run.first > (run.count - 1) * run.stride) return false;
  current_ = static_cast<std::size_t>(&run - runs_.data());
  return true;
}

}  // namespace zazen
