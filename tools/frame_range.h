// FrameRange: "--frames A-B", some sequence numbers of a dataset.
#pragma once
#include <limits>
#include <string>

#include "bodhi/base_types.h"
#include "bodhi/result.h"

namespace zazen {

struct FrameRange {
  FrameSeq first = 0;
  FrameSeq last = std::numeric_limits<FrameSeq>::max();

  bool contains(FrameSeq seq) const { return first <= seq && seq <= last; }
};

// "7", "0-99", "100-", "-99"; "" is all.
Result<FrameRange> parse_range(const std::string& text);

}  // namespace zazen
