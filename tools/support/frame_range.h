// A range of sequence numbers as people write it: "7", "0-99", "100-", "-99".
#pragma once
#include <string>

#include "bodhi/common/result.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

// "" means all.
Result<FrameRange> parse_range(const std::string& text);

}  // namespace zazen
