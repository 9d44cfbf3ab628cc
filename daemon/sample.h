// The sample of D10: are the copies still those of the origin's files? The first, the last,
// the newest and 64 at random are compared, in parallel, because an origin may be far away.
#pragma once
#include <vector>

#include "daemon/store.h"

namespace zazen {

inline constexpr std::size_t kSampleAtRandom = 64;

struct SampleResult {
  int status = 0;  // an errno if the origin's directory could not be opened; nothing is stale
  std::size_t compared = 0;
  std::vector<FrameSeq> stale;  // gone at the origin, or another file there
};

SampleResult compare_sample(const Store& store, std::uint32_t dataset);
// The same for given frames; those that are not held are stale.
SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames);

}  // namespace zazen
