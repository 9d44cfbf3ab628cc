#include "bodhi/http/loopback_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace zazen {
namespace {

constexpr int kBacklog = 64;

template <class Address>
LoopbackAddress wrap(const Address& address) {
  LoopbackAddress wrapped;
  std::memcpy(&wrapped.storage, &address, sizeof address);
  wrapped.size = sizeof address;
  return wrapped;
}

}  // namespace

std::optional<LoopbackAddress> parse_loopback_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  auto [rest, error] = std::from_chars(digits.begin(), digits.end(), port);
  if (error != std::errc() || rest != digits.end()) return std::nullopt;

  std::string host(text.substr(0, colon));
  if (host == "[::1]") {
    sockaddr_in6 v6 = {};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    v6.sin6_port = htons(port);
    return wrap(v6);
  }
  if (host == "localhost") host = "127.0.0.1";
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) return std::nullopt;
  if (ntohl(v4.sin_addr.s_addr) >> 24 != 127) return std::nullopt;
  return wrap(v4);
}

Result<UniqueFd> listen_on_loopback(const std::string& text) {
  std::optional<LoopbackAddress> address = parse_loopback_address(text);
  if (!address) {
    return Error{EINVAL, text + ": not an address of this machine alone",
                 "use \"127.0.0.1:PORT\" or \"[::1]:PORT\""};
  }
  const int family = address->storage.ss_family;
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return last_error(text + ": socket");
  const int on =
      1;  // else the port of a server that has just ended cannot be used for a minute
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* name = reinterpret_cast<const sockaddr*>(&address->storage);
  if (::bind(fd.get(), name, address->size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return last_error("cannot listen on " + text);
  }
  return fd;
}

std::string listening_address(int fd) {
  LoopbackAddress address;
  address.size = sizeof address.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return "?";
  }
  char host[INET6_ADDRSTRLEN] = "?";
  if (address.storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
  ::inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
  return std::string(host) + ":" + std::to_string(ntohs(v4.sin_port));
}

}  // namespace zazen
