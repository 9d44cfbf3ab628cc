#include "bodhi/config/push_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace zazen {

std::optional<PushAddress> parse_push_address(const std::string& text) {
  std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  PushAddress address{text.substr(0, colon), text.substr(colon + 1)};
  bool bracketed =
      address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
  if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty() || bracketed != (address.host.find(':') != text.npos) ||
      address.host.find_first_of("[]/ \t\n") != text.npos ||
      address.host.find('\0') != text.npos) {
    return std::nullopt;
  }
  unsigned port = 0;
  const char* end = address.port.data() + address.port.size();
  auto [rest, error] = std::from_chars(address.port.data(), end, port);
  if (error != std::errc() || rest != end || port == 0 || port > 65535) return std::nullopt;
  return address;
}

bool SocketAddress::is_loopback() const {
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  sockaddr_in6 v6;
  std::memcpy(&v6, &storage, sizeof v6);
  if (storage.ss_family != AF_INET6) return false;
  bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127;
  return mapped || IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

std::string SocketAddress::text() const {
  char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), size, host, sizeof host, port,
                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  bool v6 = std::strchr(host, ':') != nullptr;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

Result<std::vector<SocketAddress>> resolve(const PushAddress& address, bool to_listen) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  if (int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
      code != 0) {
    return Error{EHOSTUNREACH, address.host + ": " + ::gai_strerror(code), {}};
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress next;
    next.size = one->ai_addrlen;
    std::memcpy(&next.storage, one->ai_addr, one->ai_addrlen);
    addresses.push_back(next);
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace zazen
