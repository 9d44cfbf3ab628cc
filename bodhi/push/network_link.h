// The link to a daemon on another machine (push_wire.h). start_push() returns when the whole
// frame is sent. At most kWindowBytes are without an answer, unless a single frame is larger.
//
// The time limit is for silence. A node is not silent while its kernel acknowledges bytes,
// which requires that its daemon receives them. Nor is it silent while the daemon sends
// messages such as kWorking. A node that does neither for the time limit has failed.
#pragma once
#include "bodhi/push/node_link.h"

namespace zazen {

Result<std::unique_ptr<NodeLink>> connect_network_link(const std::string& peer,
                                                       const Credentials& credentials,
                                                       int timeout_ms);

}  // namespace zazen
