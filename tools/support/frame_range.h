// The frames that a command line names: datasets, frames in them, ranges of sequence numbers as
// people write them: "7", "0-99", "100-", "-99".
#pragma once
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/config/config.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

// "" means all.
Result<FrameRange> parse_range(const std::string& text);

struct Order {
  std::string shown;  // as it was named
  const DatasetConfig* dataset;
  FrameRange range;
  bool is_frame;  // a single one
};

// One for each path; without paths one for each dataset. `range` is one of frames: companions
// have numbers, but not for people. "" is all, companions too. `option` is its name.
Result<std::vector<Order>> orders_of(const Config& config,
                                     const std::vector<std::string>& paths,
                                     const std::string& range,
                                     const std::string& option = "--frames");

}  // namespace zazen
