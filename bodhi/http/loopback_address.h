// LoopbackAddress: an address of this machine that no other machine reaches.
#pragma once
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"

namespace zazen {

struct LoopbackAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};
// "127.0.0.1:7118", "[::1]:7118", "localhost:7118". Port 0: the system chooses one.
std::optional<LoopbackAddress> parse_loopback_address(std::string_view text);

// The socket does not block, and children do not inherit it.
Result<UniqueFd> listen_on_loopback(const std::string& address);
// "127.0.0.1:40312": where the socket listens.
std::string listening_address(int fd);

}  // namespace zazen
