#include "bodhi/push/socket_owner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace zazen {
namespace {

constexpr char kEstablished[] = "01";

// The kernel's text form: the words of the address as they are in memory, and the port.
std::string as_printed(const sockaddr_storage& address) {
  std::uint32_t words[4] = {};
  int count = 0;
  in_port_t port = 0;
  if (address.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof v4);
    std::memcpy(words, &v4.sin_addr, sizeof v4.sin_addr);
    count = 1;
    port = v4.sin_port;
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    std::memcpy(words, &v6.sin6_addr, sizeof v6.sin6_addr);
    count = 4;
    port = v6.sin6_port;
  }
  std::string text;
  char part[16];
  for (int i = 0; i < count; ++i) {
    std::snprintf(part, sizeof part, "%08X", words[i]);
    text += part;
  }
  std::snprintf(part, sizeof part, ":%04X", ntohs(port));
  return text + part;
}

}  // namespace

std::optional<uid_t> owner_of_peer(int socket) {
  sockaddr_storage ours = {}, theirs = {};
  socklen_t size = sizeof ours;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&ours), &size) != 0) return {};
  size = sizeof theirs;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&theirs), &size) != 0) return {};
  const std::string local = as_printed(theirs), remote = as_printed(ours);
  std::ifstream sockets(ours.ss_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream fields(line);
    std::string number, from, to, state, skipped;
    uid_t uid;
    std::uint64_t inode;
    if (!(fields >> number >> from >> to >> state) || from != local || to != remote) continue;
    // Queues, timer, retransmissions; then, after the user, a timeout.
    if (!(fields >> skipped >> skipped >> skipped >> uid >> skipped >> inode)) return {};
    // A socket that was closed, or is not accepted yet, has no owner: the kernel prints user 0,
    // inode 0.
    if (state != kEstablished || inode == 0) return {};
    return uid;
  }
  return {};
}

}  // namespace zazen
