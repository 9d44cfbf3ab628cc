#include "daemon/peer_identity.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace zazen {
namespace {

bool read_groups(int socket, std::vector<gid_t>* groups) {
  socklen_t size = 0;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &size) == 0) return true;
  if (errno != ERANGE) return false;
  groups->resize(size / sizeof(gid_t));
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups->data(), &size) != 0) return false;
  groups->resize(size / sizeof(gid_t));
  return true;
}

}  // namespace

Peer identify_peer(int socket) {
  struct ucred credentials = {};
  socklen_t size = sizeof credentials;
  auto peer = std::make_shared<PeerIdentity>();
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
      !read_groups(socket, &peer->groups)) {
    return nullptr;
  }
  peer->uid = credentials.uid;
  peer->gid = credentials.gid;
  return peer;
}

bool is_own_user(const PeerIdentity& peer) {
  static const uid_t own = ::geteuid();
  return peer.uid == own;
}

}  // namespace zazen
