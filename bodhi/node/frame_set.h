// FrameSet: a set of sequence numbers, ascending, and its compact form for messages: strided
// runs, so that "every fourth frame" takes a few bytes at any length.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

struct FrameRun {  // first, first + stride, ..., count of them (stride is 1 if count is 1)
  FrameSeq first;
  std::uint64_t stride;
  std::uint64_t count;
  bool operator==(const FrameRun&) const = default;
};

class FrameSet {
 public:
  FrameSet() = default;
  // Sorts and drops duplicates.
  explicit FrameSet(std::vector<FrameSeq> frames);

  const std::vector<FrameSeq>& frames() const { return frames_; }
  std::size_t size() const { return frames_.size(); }
  bool empty() const { return frames_.empty(); }
  bool contains(FrameSeq seq) const;
  bool operator==(const FrameSet&) const = default;

  // Greedy: a run goes on while the stride stays the same. The runs cover the set in order and
  // do not interleave.
  std::vector<FrameRun> runs() const;

  std::string encode() const;
  // Refuses bytes that are malformed, not ascending, overflow, or have more than limit frames.
  static Result<FrameSet> decode(std::string_view bytes, std::uint64_t limit = 1ULL << 32);
  // The same as runs, whose size does not depend on the number of frames.
  static Result<std::vector<FrameRun>> decode_runs(std::string_view bytes,
                                                   std::uint64_t limit = 1ULL << 32);

  friend FrameSet set_union(const FrameSet& a, const FrameSet& b);
  friend FrameSet set_difference(const FrameSet& a, const FrameSet& b);
  friend FrameSet set_intersection(const FrameSet& a, const FrameSet& b);

 private:
  std::vector<FrameSeq> frames_;
};

FrameSet set_union(const FrameSet& a, const FrameSet& b);
FrameSet set_difference(const FrameSet& a, const FrameSet& b);
FrameSet set_intersection(const FrameSet& a, const FrameSet& b);

}  // namespace zazen
