// Domain: the frames that a job divides among its ranks. A frame's number in the domain is its
// index. The frames are those of a listing, or of a part of it (Selection), or a plain range
// for programs that know their frames.
//
// It consists of strided runs, independently of the number of frames.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "bodhi/node/frame_set.h"

namespace zazen {

// The paper's begin, end and stride: begin, begin + stride, ..., not beyond end, as sequence
// numbers. Without a begin, the first frame of the listing counts.
struct Selection {
  std::optional<FrameSeq> begin;
  std::optional<FrameSeq> end;
  std::uint64_t stride = 1;

  bool selects(FrameSeq seq) const {
    return (!begin || seq >= *begin) && (!end || seq <= *end) &&
           (stride == 1 || (seq - begin.value_or(0)) % stride == 0);
  }
  bool operator==(const Selection&) const = default;
};

struct DomainRun {  // its frame number k: first + k * stride, index + k, position + k * step
  FrameSeq first;
  std::uint64_t stride;
  std::uint64_t count;
  std::uint64_t index;
  std::uint64_t position;  // in the listing
  std::uint64_t step;
};

class Domain {
 public:
  Domain() = default;
  // The selected frames of a listing.
  Domain(std::span<const FrameRun> listing, Selection selection);
  // All numbers from begin to end; end is not before begin.
  static Domain range(FrameSeq begin, FrameSeq end, std::uint64_t stride);

  std::size_t size() const { return size_; }
  const std::vector<DomainRun>& runs() const { return runs_; }
  // With the begin from which the stride counts.
  const Selection& selection() const { return selection_; }

 private:
  void add(const FrameRun& run, std::uint64_t position);

  Selection selection_;
  std::vector<DomainRun> runs_;
  std::size_t size_ = 0;
};

// Looks up frames one after the other; fast if they are ascending.
class DomainFinder {
 public:
  static constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

  explicit DomainFinder(const Domain& domain) : runs_(domain.runs()) {}

  std::size_t index_of(FrameSeq seq) {
    if (runs_.empty()) return kAbsent;
    const DomainRun* run = &runs_[current_];
    if (seq < run->first || seq - run->first > (run->count - 1) * run->stride) {
      if (!find_run(seq)) return kAbsent;
      run = &runs_[current_];
    }
    const std::uint64_t distance = seq - run->first;
    if (run->stride == 1) return run->index + distance;
    if (distance % run->stride != 0) return kAbsent;
    return run->index + distance / run->stride;
  }

 private:
  bool find_run(FrameSeq seq);

  std::span<const DomainRun> runs_;
  std::size_t current_ = 0;
};

// Walks through the domain by ascending indexes.
class DomainWalk {
 public:
  explicit DomainWalk(const Domain& domain) : runs_(domain.runs()) {}

  struct Frame {
    FrameSeq seq;
    std::uint64_t position;  // in the listing
  };
  // index is below the domain's size and not below that of the previous call.
  Frame at(std::size_t index) {
    while (index - runs_[current_].index >= runs_[current_].count) ++current_;
    const DomainRun& run = runs_[current_];
    const std::uint64_t k = index - run.index;
    return {run.first + k * run.stride, run.position + k * run.step};
  }

  // The frames of index, index + stride, ... in one run of the domain, at most `count` of them.
  // The next index is above theirs.
  struct Stretch {
    Frame first;
    std::uint64_t seq_step, position_step;
    std::uint64_t count;
  };
  Stretch stretch(std::size_t index, std::size_t stride, std::uint64_t count) {
    const Frame first = at(index);
    const DomainRun& run = runs_[current_];
    const std::uint64_t here = 1 + (run.index + run.count - 1 - index) / stride;
    return {first, run.stride * stride, run.step * stride, std::min(count, here)};
  }

 private:
  std::span<const DomainRun> runs_;
  std::size_t current_ = 0;
};

}  // namespace zazen
