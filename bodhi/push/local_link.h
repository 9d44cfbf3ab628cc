// The link to a daemon of this machine: its socket carries descriptors, not content.
#pragma once
#include "bodhi/push/node_link.h"

namespace zazen {

Result<std::unique_ptr<NodeLink>> connect_local_link(const std::string& runtime,
                                                     int timeout_ms);

}  // namespace zazen
