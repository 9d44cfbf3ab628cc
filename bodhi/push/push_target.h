// PushTarget: the node that a session is for. A writer names the node by the address that it
// dialled. The node compares that with the address at which the connection arrived. The MACs
// cover the name, so a process that has taken the port of a dead node cannot relay sessions to
// another node. All machines have the same loopback addresses, so the kernel's boot id is added
// to those.
#pragma once
#include "bodhi/push/push_wire.h"

namespace zazen {

PushTarget dialled_target(int socket);  // the other end, as this side has dialled it
PushTarget own_target(int socket);      // this end, as the other side must have dialled it

}  // namespace zazen
