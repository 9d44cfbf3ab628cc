// PushAddress: where a daemon listens for pushes: "HOST:PORT", "[::1]:7117".
#pragma once
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "bodhi/common/result.h"

namespace zazen {

struct PushAddress {
  std::string host;  // a name or a number, without brackets
  std::string port;  // 1 to 65535
};
std::optional<PushAddress> parse_push_address(const std::string& text);

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
  bool is_loopback() const;
  std::string text() const;  // "127.0.0.1:40312"
};
// The addresses of the name; `to_listen` also allows an empty host, "0.0.0.0" and "::".
Result<std::vector<SocketAddress>> resolve(const PushAddress& address, bool to_listen);

}  // namespace zazen
