// Are copies still those of the origin's files (D10)? For the sample when a job starts (the
// first, the last, the newest and 64 at random, in parallel, because an origin may be far
// away), for young copies, and for the sweep.
//
// A frame that is missing at the origin is gone there. An origin that does not answer proves
// nothing against a copy; nor does a dataset's directory that is missing, or empty: a file
// system that is not mounted looks like that.
#pragma once
#include <vector>

#include "daemon/store.h"

namespace zazen {

inline constexpr std::size_t kSampleAtRandom = 64, kSampleThreads = 8;

struct SampleResult {
  int status = 0;  // an errno if the origin could not be asked; then nothing is stale
  std::size_t compared = 0;
  std::size_t unknown = 0;        // of these: the origin or the cache's disk did not say
  std::vector<ExactCopy> stale;   // gone at the origin, or another file there
  std::vector<FrameSeq> arrived;  // natives that waited for the origin, which has them now
};

SampleResult compare_sample(const Store& store, std::uint32_t dataset);
// The same for given frames; those that are not held are stale. Once `give_up` is set the store
// is not touched any more, even if the origin answers only then; the result is of no use.
SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames,
                            std::size_t threads = kSampleThreads,
                            const std::atomic<bool>* give_up = nullptr);

}  // namespace zazen
