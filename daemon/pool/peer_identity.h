// Who is at the other end of a local connection: the kernel's word (SO_PEERCRED and
// SO_PEERGROUPS), as it was when the client connected; never the client's (D15).
#pragma once
#include <sys/types.h>

#include <optional>

#include "daemon/pool/forker.h"

namespace zazen {

struct ConnectedPeer {
  WorkerCredentials credentials;
  pid_t pid = 0;  // 0: not to be seen from here
};

// Nothing if the kernel does not say.
std::optional<ConnectedPeer> identify_peer(int socket);

}  // namespace zazen
