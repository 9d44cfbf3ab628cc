// Identifies the client of a local connection. The source is the kernel (SO_PEERCRED and
// SO_PEERGROUPS), as of the connect, never the client (D15).
#pragma once
#include <sys/types.h>

#include <optional>

#include "daemon/pool/forker.h"

namespace zazen {

struct ConnectedPeer {
  WorkerCredentials credentials;
  pid_t pid = 0;  // 0: not visible in this process's namespace
};

// Nothing if the kernel does not say.
std::optional<ConnectedPeer> identify_peer(int socket);

}  // namespace zazen
