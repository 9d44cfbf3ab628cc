// A range of sequence numbers as people write it: "7", "0-99", "100-", "-99".
#pragma once
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/config/config.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

// "" means all.
Result<FrameRange> parse_range(const std::string& text);

// What the text means for a dataset. A range is one of frames: companions have numbers, but not
// for people. "" is all, companions too.
FrameRange range_in(const DatasetConfig& dataset, const std::string& text,
                    const FrameRange& range);

}  // namespace zazen
