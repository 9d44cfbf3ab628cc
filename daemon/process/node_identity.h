// The node's id: 16 random bytes in <cache>/.zazen/node-id, made once for each cache (D11).
#pragma once
#include "bodhi/common/result.h"
#include "bodhi/lean/system/base_types.h"

namespace zazen {

// `state_fd` is the cache's .zazen directory.
Result<NodeId> load_or_make_node_id(int state_fd);

}  // namespace zazen
