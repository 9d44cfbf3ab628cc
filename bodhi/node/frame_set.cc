// The encoding: the number of runs, then for each run the distance from the last frame before
// it to its first frame, its stride and its count, all as varints.
#include "bodhi/node/frame_set.h"

#include <algorithm>
#include <iterator>

#include "bodhi/common/varint.h"

namespace zazen {

FrameSet::FrameSet(std::vector<FrameSeq> frames) : frames_(std::move(frames)) {
  auto not_ascending =
      std::adjacent_find(frames_.begin(), frames_.end(), std::greater_equal<>());
  if (not_ascending == frames_.end()) return;
  std::sort(frames_.begin(), frames_.end());
  frames_.erase(std::unique(frames_.begin(), frames_.end()), frames_.end());
}

bool FrameSet::contains(FrameSeq seq) const {
  return std::binary_search(frames_.begin(), frames_.end(), seq);
}

std::vector<FrameRun> FrameSet::runs() const {
  std::vector<FrameRun> runs;
  for (std::size_t i = 0; i < frames_.size();) {
    FrameRun run{frames_[i], 1, 1};
    if (i + 1 < frames_.size()) {
      std::uint64_t stride = frames_[i + 1] - frames_[i];
      std::size_t next = i + 1;
      while (next < frames_.size() && frames_[next] - frames_[next - 1] == stride) ++next;
      run = {frames_[i], stride, next - i};
    }
    runs.push_back(run);
    i += run.count;
  }
  return runs;
}

std::string FrameSet::encode() const {
  std::vector<FrameRun> parts = runs();
  std::string out;
  put_varint(out, parts.size());
  FrameSeq last = 0;
  for (const FrameRun& run : parts) {
    put_varint(out, run.first - last);
    put_varint(out, run.stride);
    put_varint(out, run.count);
    last = run.first + run.stride * (run.count - 1);
  }
  return out;
}

Result<std::vector<FrameRun>> FrameSet::decode_runs(std::string_view bytes,
                                                    std::uint64_t limit) {
  const Error malformed{EINVAL, "malformed set of frames", {}};
  std::uint64_t run_count;
  if (!take_varint(bytes, &run_count) || run_count > bytes.size() / 3) return malformed;

  std::vector<FrameRun> parts;
  parts.reserve(run_count);
  std::uint64_t total = 0;
  FrameSeq last = 0;
  for (std::uint64_t i = 0; i < run_count; ++i) {
    std::uint64_t distance;
    FrameRun run;
    if (!take_varint(bytes, &distance) || !take_varint(bytes, &run.stride) ||
        !take_varint(bytes, &run.count)) {
      return malformed;
    }
    if (run.stride == 0 || run.count == 0 || (i > 0 && distance == 0)) return malformed;
    if (run.count == 1 && run.stride != 1) return malformed;
    std::uint64_t span;
    if (__builtin_add_overflow(last, distance, &run.first) ||
        __builtin_mul_overflow(run.stride, run.count - 1, &span) ||
        __builtin_add_overflow(run.first, span, &last) ||
        __builtin_add_overflow(total, run.count, &total)) {
      return malformed;
    }
    if (total > limit) return Error{E2BIG, "set of frames larger than allowed", {}};
    parts.push_back(run);
  }
  if (!bytes.empty()) return malformed;
  return parts;
}

Result<FrameSet> FrameSet::decode(std::string_view bytes, std::uint64_t limit) {
  Result<std::vector<FrameRun>> parts = decode_runs(bytes, limit);
  if (!parts) return parts.error();
  std::uint64_t total = 0;
  for (const FrameRun& run : *parts) total += run.count;
  FrameSet set;
  set.frames_.reserve(total);
  for (const FrameRun& run : *parts) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      set.frames_.push_back(run.first + i * run.stride);
    }
  }
  return set;
}

FrameSet set_union(const FrameSet& a, const FrameSet& b) {
  FrameSet out;
  out.frames_.reserve(a.size() + b.size());
  std::set_union(a.frames_.begin(), a.frames_.end(), b.frames_.begin(), b.frames_.end(),
                 std::back_inserter(out.frames_));
  return out;
}

FrameSet set_difference(const FrameSet& a, const FrameSet& b) {
  FrameSet out;
  std::set_difference(a.frames_.begin(), a.frames_.end(), b.frames_.begin(), b.frames_.end(),
                      std::back_inserter(out.frames_));
  return out;
}

FrameSet set_intersection(const FrameSet& a, const FrameSet& b) {
  FrameSet out;
  std::set_intersection(a.frames_.begin(), a.frames_.end(), b.frames_.begin(), b.frames_.end(),
                        std::back_inserter(out.frames_));
  return out;
}

}  // namespace zazen
