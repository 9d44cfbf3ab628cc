// Compares copies with the origin's files (D10). The sample at the start of a job compares the
// first, the last, the newest and 64 random copies. It does so in parallel, because an origin
// may be far away. The checks of young copies and the sweep use the same comparison.
//
// zazend knows the copies, and a worker the origin's files: the worker's half of a comparison
// is in daemon/worker/origins/comparison.h.
//
// A frame that is missing at the origin makes its copy stale. An origin that does not answer
// proves nothing against a copy. Nor does a dataset's directory that is missing or empty,
// because an unmounted file system looks like that.
#pragma once
#include <functional>
#include <vector>

#include "daemon/store/store.h"

namespace zazen {

inline constexpr std::size_t kSampleAtRandom = 64, kSampleThreads = 8;

// Asks a worker to compare copies with the origin's files. 0, or an errno if the origin cannot
// be asked.
using CompareAtOrigin =
    std::function<int(std::uint32_t dataset, const std::vector<CopyToCompare>& copies,
                      std::size_t threads, std::vector<Comparison>* out)>;

struct SampleResult {
  int status = 0;  // an errno if the origin could not be asked about all of them
  std::size_t compared = 0;
  std::size_t unknown = 0;        // of these: the origin or the cache's disk did not answer
  std::vector<ExactCopy> stale;   // gone at the origin, or another file there
  std::vector<FrameSeq> arrived;  // natives that waited for their frames, which the origin has

  bool is_known() const { return status == 0 && unknown == 0; }
};

SampleResult compare_sample(const Store& store, std::uint32_t dataset,
                            const CompareAtOrigin& ask);
// The same for given frames; frames that are not held are stale.
SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames, const CompareAtOrigin& ask,
                            std::size_t threads = kSampleThreads);

}  // namespace zazen
