// The rule by which a frame is read from its local copy (D10, D15): serve the copy, compare it
// with the origin first, or read the origin.
//
// The shim, libbodhi's reader and `zazenctl explain` gather the facts by their own means
// (local_copy.h has what they share) and ask judge(). It makes no call, and each answer has a
// reason. Lean.
#pragma once
#include "bodhi/lean/frames/table.h"

namespace zazen {

inline constexpr std::int64_t kSampleAgeMs = 5'000;  // a younger sample of the daemon's will do
inline constexpr std::int64_t kTrustMs = 30'000;     // for so long a process trusts a sample

enum class CopyUse : std::uint8_t { kServe, kCompare, kOrigin };

enum class CopyReason : std::uint8_t {
  // kOrigin
  kNotServed,        // no daemon serves the dataset
  kDirectoryClosed,  // this process cannot search the frame directory
  kNoCopy,
  kCopyClosed,  // the copy is there and cannot be opened
  kNoIdentity,  // nothing says whose copy it is
  kStale,
  // kCompare
  kAlways,      // validate = "always"
  kDoubted,     // the daemon says so in the table, and why
  kDistrusted,  // this process found a stale copy, or the daemon did not answer
  kFirstUse,    // the first use of the dataset by this process within kTrustMs
  // kServe
  kAsOrigin,
  kTrusted,
};

enum class Comparison : std::uint8_t { kNotMade, kSame, kDiffers, kNoIdentity };

// Facts that are not known yet stay as they begin.
struct CopyFacts {
  const TableDataset* dataset = nullptr;  // null: no daemon serves it
  bool directory_is_open = false;         // this process can search the frame directory
  bool is_first_use = false;
  bool is_distrusted = false;
  int copy_error = 0;  // why the copy cannot be opened; 0: it can
  Comparison comparison = Comparison::kNotMade;
};

struct CopyVerdict {
  CopyUse use;
  CopyReason reason;
};

// Why copies of the dataset are compared before they are served; kTrusted: they are not.
inline CopyReason reason_to_compare(const TableDataset& dataset, bool is_distrusted,
                                    bool is_first_use) {
  if (dataset.validate == Validate::kAlways) return CopyReason::kAlways;
  if (dataset.doubts.load(std::memory_order_acquire) != 0) return CopyReason::kDoubted;
  if (is_distrusted) return CopyReason::kDistrusted;
  bool counts = is_first_use && dataset.validate == Validate::kSample;
  return counts ? CopyReason::kFirstUse : CopyReason::kTrusted;
}

// Ask when the copy is open: the daemon marks the dataset before it lets a young copy appear.
// After kCompare, compare and ask again.
inline CopyVerdict judge(const CopyFacts& facts) {
  if (facts.dataset == nullptr) return {CopyUse::kOrigin, CopyReason::kNotServed};
  if (!facts.directory_is_open) return {CopyUse::kOrigin, CopyReason::kDirectoryClosed};
  if (facts.copy_error != 0) {
    return {CopyUse::kOrigin,
            facts.copy_error == ENOENT ? CopyReason::kNoCopy : CopyReason::kCopyClosed};
  }
  switch (facts.comparison) {
    case Comparison::kSame:
      return {CopyUse::kServe, CopyReason::kAsOrigin};
    case Comparison::kDiffers:
      return {CopyUse::kOrigin, CopyReason::kStale};
    case Comparison::kNoIdentity:
      return {CopyUse::kOrigin, CopyReason::kNoIdentity};
    case Comparison::kNotMade:
      break;
  }
  CopyReason reason =
      reason_to_compare(*facts.dataset, facts.is_distrusted, facts.is_first_use);
  return {reason == CopyReason::kTrusted ? CopyUse::kServe : CopyUse::kCompare, reason};
}

}  // namespace zazen
