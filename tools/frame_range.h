// A range of sequence numbers as people write it: "7", "0-99", "100-", "-99".
#pragma once
#include <string>

#include "bodhi/base_types.h"
#include "bodhi/result.h"

namespace zazen {

// "" is all.
Result<FrameRange> parse_range(const std::string& text);

}  // namespace zazen
