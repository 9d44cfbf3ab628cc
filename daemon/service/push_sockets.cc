#include "daemon/service/push_sockets.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "bodhi/config/push_address.h"
#include "bodhi/push/push_wire.h"
#include "daemon/process/log.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

constexpr int kBacklog = 128;

// Without a key and without MUNGE there is no proof who pushes.
Status require_proof(const Config& config, const Credentials& credentials,
                     const std::vector<SocketAddress>& addresses) {
  if (!credentials.key.empty() || credentials.munge) return Done{};
  bool loopback = std::ranges::all_of(addresses, &SocketAddress::is_loopback);
  constexpr char kHint[] = "set key_file = \"...\" here and for the writers, or run MUNGE";
  if (!loopback) {
    return Error{EACCES,
                 fmt::format("{}: listen = \"{}\": there is no key file and no MUNGE, so only "
                             "writers of this machine may push",
                             config.file, config.listen),
                 kHint};
  }
  if (config.all_users) {
    return Error{
        EACCES,
        fmt::format("{}: listen = \"{}\": users = \"all\", and nothing tells who pushes",
                    config.file, config.listen),
        kHint};
  }
  return Done{};
}

std::uint16_t methods_of(const Credentials& credentials) {
  int methods = (credentials.key.empty() ? 0 : kByKey) | (credentials.munge ? kByMunge : 0);
  return static_cast<std::uint16_t>(methods == 0 ? kByLoopback : methods);
}

Result<std::vector<SocketAddress>> plan(const Config& config,
                                        const Result<Credentials>& credentials) {
  std::optional<PushAddress> address = parse_push_address(config.listen);
  if (!address) return Error{EINVAL, "listen: '" + config.listen + "' is not HOST:PORT", {}};
  if (!credentials) return credentials.error();
  Result<std::vector<SocketAddress>> addresses = resolve(*address, true);
  if (!addresses) {
    return Error{EINVAL, "listen: " + addresses.error().context,
                 "name an address of this node"};
  }
  if (Status proof = require_proof(config, *credentials, *addresses); !proof) {
    return proof.error();
  }
  return addresses;
}

Result<UniqueFd> open_socket(const SocketAddress& address) {
  UniqueFd socket(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return failed_call("listen: " + address.text());
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) !=
          0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return failed_call("listen: " + address.text(), "is another zazend there? ss -ltnp");
  }
  return socket;
}

}  // namespace

Status check_listen(const Config& config) {
  auto planned = plan(config, load_credentials(config.key_file));
  if (!planned) return planned.error();
  return Done{};
}

Result<PushSockets> open_push_sockets(const Config& config, const KeyRing& keys) {
  const Result<Credentials> credentials = keys.credentials();
  auto addresses = plan(config, credentials);
  if (!addresses) return addresses.error();
  PushSockets opened;
  for (const SocketAddress& one : *addresses) {
    Result<UniqueFd> socket = open_socket(one);
    if (!socket) return socket.error();
    opened.sockets.push_back(std::move(*socket));
  }
  opened.methods = methods_of(*credentials);
  const char* proof = opened.methods == kByLoopback ? "none, this machine only"
                      : opened.methods == kByKey    ? "key"
                      : opened.methods == kByMunge  ? "munge"
                                                    : "key, munge";
  log_line(LogLevel::kInfo, "listening", {{"address", config.listen}, {"proof", proof}});
  return opened;
}

}  // namespace zazen
