// Who is at the other end of a local connection: the kernel's word (SO_PEERCRED and
// SO_PEERGROUPS), as it was when the client connected; never the client's (D15).
#pragma once
#include <sys/types.h>

#include <memory>
#include <vector>

namespace zazen {

struct PeerIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary
};
using Peer = std::shared_ptr<const PeerIdentity>;

// Null if the kernel does not say.
Peer identify_peer(int socket);

// The daemon's own user may ask for everything, and nothing is looked up in his name.
bool is_own_user(const PeerIdentity& peer);

}  // namespace zazen
