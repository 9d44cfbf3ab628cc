// Which node a session is for. A writer names the node by the address that it dialled, and the
// node compares that with the address at which the connection has come in. So a process that
// holds the port of a dead node cannot pass its sessions on to another node: the MACs cover the
// name. Every machine has the same loopback addresses, so those go with the kernel's boot id.
#pragma once
#include "bodhi/push/push_wire.h"

namespace zazen {

PushTarget dialled_target(int socket);  // the other end, as this side has dialled it
PushTarget own_target(int socket);      // this end, as the other side must have dialled it

}  // namespace zazen
