#include "bodhi/push/push_target.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <fstream>

#include "bodhi/config/push_address.h"

namespace zazen {
namespace {

PushTarget target_of(const SocketAddress& at) {
  PushTarget target = {};
  if (at.storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &at.storage, sizeof v4);
    target.address[10] = target.address[11] = 0xff;
    std::memcpy(&target.address[12], &v4.sin_addr, sizeof v4.sin_addr);
    target.port = ntohs(v4.sin_port);
  } else if (at.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &at.storage, sizeof v6);
    std::memcpy(target.address.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    target.port = ntohs(v6.sin6_port);
  }
  if (at.is_loopback()) {
    std::ifstream("/proc/sys/kernel/random/boot_id")
        .read(target.machine.data(), static_cast<std::streamsize>(target.machine.size()));
  }
  return target;
}

template <class Ask>
PushTarget ask(Ask address_of, int socket) {
  SocketAddress at;
  at.size = sizeof at.storage;
  if (address_of(socket, reinterpret_cast<sockaddr*>(&at.storage), &at.size) != 0) return {};
  return target_of(at);
}

}  // namespace

PushTarget dialled_target(int socket) {
  return ask(::getpeername, socket);
}

PushTarget own_target(int socket) {
  return ask(::getsockname, socket);
}

}  // namespace zazen
