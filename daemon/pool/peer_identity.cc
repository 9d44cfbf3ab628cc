#include "daemon/pool/peer_identity.h"

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

std::optional<ConnectedPeer> identify_peer(int socket) {
  struct ucred credentials = {};
  socklen_t size = sizeof credentials;
  ConnectedPeer peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
      !read_groups(socket, &peer.credentials.groups)) {
    return std::nullopt;
  }
  peer.credentials.uid = credentials.uid;
  peer.credentials.gid = credentials.gid;
  peer.pid = credentials.pid;
  return peer;
}

}  // namespace zazen
