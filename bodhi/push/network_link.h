// The link to a daemon on another machine (push_wire.h). A frame is sent while start_push()
// runs; it returns when all of it is on its way. Not more than kWindowBytes are without an
// answer, unless a single frame is larger. The time limit is for silence: a node answers as
// long as its kernel acknowledges bytes, which it does only while its daemon takes them, or the
// daemon says something, if only that it is at work. However much was sent, who does neither
// for so long is silent.
#pragma once
#include "bodhi/push/node_link.h"

namespace zazen {

Result<std::unique_ptr<NodeLink>> connect_network_link(const std::string& peer,
                                                       const Credentials& credentials,
                                                       int timeout_ms);

}  // namespace zazen
