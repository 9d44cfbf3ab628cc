// Ports of this machine's loopback.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tools/bench/support/bench_place.h"

namespace zazen {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Binds a socket to a free port, which is returned.
inline std::uint16_t bind_to_loopback(int socket) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, generic, size) != 0 || ::getsockname(socket, generic, &size) != 0) {
    throw last_error("a free port");
  }
  return ntohs(address.sin_port);
}

inline bool connect_to_loopback(int socket, std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace zazen
