#include "daemon/peer_identity.h"

#include <sys/socket.h>
#include <unistd.h>

namespace zazen {

bool peer_is_own_user(int socket) {
  struct ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid();
}

}  // namespace zazen
