#include "daemon/validation/sample.h"

#include <sys/stat.h>

namespace zazen {
namespace {

struct Looked {  // at one copy
  Comparison outcome = Comparison::kUnknown;
  ExactCopy copy = {};
  std::optional<CopyToCompare> ask;  // the origin decides
};

Looked look(const Store& store, std::uint32_t dataset, FrameSeq seq) {
  Looked looked;
  looked.copy.seq = seq;
  if (store.is_suspended(dataset, seq)) {  // compared after the last writer has closed it
    looked.outcome = Comparison::kSame;
    return looked;
  }
  UniqueFd copy = store.open_copy(dataset, seq);
  if (!copy.valid()) {
    bool missing = errno == ENOENT || errno == ELOOP;
    // A copy that was evicted meanwhile says nothing of the others.
    if (missing) {
      looked.outcome = store.has_lost(dataset, seq) ? Comparison::kStale : Comparison::kSame;
    }
    return looked;
  }
  struct stat local = {};
  if (::fstat(copy.get(), &local) != 0) return looked;
  looked.copy = ExactCopy::of(seq, local);
  OriginIdentity identity = {};
  const int code = read_identity(copy.get(), &identity);
  if (code == 0) {
    looked.ask = CopyToCompare{seq, identity, store.is_waiting(dataset, seq)};
  } else if (code == EINVAL || code == ENODATA) {
    looked.outcome = Comparison::kStale;
  }
  return looked;
}

}  // namespace

SampleResult compare_sample(const Store& store, std::uint32_t dataset,
                            const CompareAtOrigin& ask) {
  return compare_frames(store, dataset, store.sample(dataset, kSampleAtRandom), ask);
}

SampleResult compare_frames(const Store& store, std::uint32_t dataset,
                            const std::vector<FrameSeq>& frames, const CompareAtOrigin& ask,
                            std::size_t threads) {
  SampleResult result;
  std::vector<Looked> looked;
  std::vector<CopyToCompare> copies;
  for (FrameSeq seq : frames) {
    looked.push_back(look(store, dataset, seq));
    if (looked.back().ask) copies.push_back(*looked.back().ask);
  }
  std::vector<Comparison> outcomes;
  result.status = ask(dataset, copies, threads, &outcomes);
  auto outcome = outcomes.begin();
  for (Looked& one : looked) {
    if (one.ask) one.outcome = outcome == outcomes.end() ? Comparison::kUnknown : *outcome++;
    switch (one.outcome) {
      case Comparison::kArrived:
        result.arrived.push_back(one.copy.seq);
        break;
      case Comparison::kStale:
      case Comparison::kGone:
        result.stale.push_back(one.copy);
        break;
      case Comparison::kSame:
        break;
      default:  // kUnknown, or a value that no worker of ours sends
        ++result.unknown;
    }
  }
  if (result.status == 0) result.compared = frames.size();
  return result;
}

}  // namespace zazen
