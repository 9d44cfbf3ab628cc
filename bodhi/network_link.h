// The link to a daemon on another machine (push_wire.h). A frame is sent while start_push()
// runs; it returns when all of it is on its way. Not more than kWindowBytes are without an
// answer, unless a single frame is larger. The time limit is for silence: a daemon that takes
// bytes or says something, if only that it is at work, answers. What may lie in buffers is
// given the time that it needs at kSlowestBytes in a second.
#pragma once
#include "bodhi/node_link.h"

namespace zazen {

Result<std::unique_ptr<NodeLink>> connect_network_link(const std::string& peer,
                                                       const Credentials& credentials,
                                                       int timeout_ms);

}  // namespace zazen
