#include "daemon/push_listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "daemon/crash_report.h"
#include "daemon/log.h"
#include "daemon/shortage.h"
#include "daemon/start_error.h"

namespace zazen {
namespace {

constexpr int kTickMs = 1'000, kSignMs = 200, kBacklog = 128;

// Without a key and without MUNGE nobody can tell who pushes.
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

}  // namespace

PushListener::PushListener(const Config& config, Store& store, KeyRing& keys,
                           PushCounts& counts, std::function<void(FillRequest)> take,
                           std::function<int(std::string_view)> take_notice)
    : terms_{config,
             store,
             keys,
             counts,
             std::move(take),
             RateLimit(config.max_rate_bytes),
             methods_of(*keys.credentials()),
             {},
             std::move(take_notice)} {}

Result<std::vector<SocketAddress>> PushListener::plan(const Config& config,
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

Status PushListener::check(const Config& config) {
  auto planned = plan(config, load_credentials(config.key_file));
  if (!planned) return planned.error();
  return Done{};
}

Result<std::unique_ptr<PushListener>> PushListener::listen(
    const Config& config, Store& store, KeyRing& keys, PushCounts& counts,
    std::function<void(FillRequest)> take, std::function<int(std::string_view)> take_notice) {
  auto addresses = plan(config, keys.credentials());
  if (!addresses) return addresses.error();
  std::unique_ptr<PushListener> listener(
      new PushListener(config, store, keys, counts, std::move(take), std::move(take_notice)));
  for (const SocketAddress& one : *addresses) {
    if (Status opened = listener->open(one); !opened) return opened.error();
  }
  listener->stop_ = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!listener->stop_.valid()) return failed_call("eventfd");
  listener->thread_ = std::thread([raw = listener.get()] {
    CrashStack crash_stack;
    until_no_shortage([raw] { raw->run(); });
  });
  const std::uint16_t methods = listener->terms_.methods;
  const char* proof = methods == kByLoopback ? "none, this machine only"
                      : methods == kByKey    ? "key"
                      : methods == kByMunge  ? "munge"
                                             : "key, munge";
  log_line(LogLevel::kInfo, "listening", {{"address", config.listen}, {"proof", proof}});
  return listener;
}

Status PushListener::open(const SocketAddress& address) {
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
  sockets_.push_back(std::move(socket));
  return Done{};
}

void PushListener::run() {
  std::vector<pollfd> entries = {{stop_.get(), POLLIN, 0}};
  for (const UniqueFd& socket : sockets_) entries.push_back({socket.get(), POLLIN, 0});
  std::chrono::steady_clock::time_point said_at;
  for (;;) {
    ::poll(entries.data(), entries.size(), connections_.empty() ? kTickMs : kSignMs);
    if ((entries[0].revents & POLLIN) != 0) return;
    std::erase_if(connections_, [](const Connection& one) { return one.session->has_ended(); });
    // However often somebody connects.
    if (const auto now = std::chrono::steady_clock::now();
        now - said_at >= std::chrono::milliseconds(kSignMs)) {
      look_at_sessions();
      said_at = now;
    }
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if ((entries[i].revents & POLLIN) != 0) accept_writer(entries[i].fd);
    }
  }
}

void PushListener::accept_writer(int socket) {
  if (!make_way()) return pause();
  SocketAddress from;
  from.size = sizeof from.storage;
  UniqueFd accepted(::accept4(socket, reinterpret_cast<sockaddr*>(&from.storage), &from.size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!accepted.valid()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) pause();
    return;
  }
  bool may_come = terms_.methods != kByLoopback || from.is_loopback();
  if (!may_come) return;
  int on = 1;
  ::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(accepted.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  auto session = std::make_shared<PushSession>(std::move(accepted), from.text(), terms_);
  connections_.push_back({session});
  const bool started =
      despite_shortage([&] { sessions_.start([session] { session->run(); }); });
  if (!started) connections_.pop_back();
}

void PushListener::look_at_sessions() {
  if (terms_.keys.drop_ended()) log_line(LogLevel::kInfo, "old_key_ended");
  terms_.counts.old_key_until = terms_.keys.old_key_until().value_or(0);
  for (Connection& connection : connections_) {
    connection.session->say_at_work();
    connection.session->check_key();
  }
}

bool PushListener::make_way() {
  auto unproved = [](const Connection& one) {
    return !one.session->is_admitted() && !one.session->has_ended();
  };
  auto count = static_cast<std::size_t>(std::ranges::count_if(connections_, unproved));
  if (count < kMostUnproved) return true;
  if (count >= 2 * kMostUnproved) return false;
  auto oldest = std::ranges::find_if(
      connections_, [&](const Connection& one) { return unproved(one) && !one.aborted; });
  if (oldest == connections_.end()) return true;
  oldest->session->abort();
  oldest->aborted = true;
  return true;
}

// Until some are free the kernel keeps the connections.
void PushListener::pause() {
  struct pollfd stop = {stop_.get(), POLLIN, 0};
  ::poll(&stop, 1, kTickMs / 10);
}

void PushListener::stop_reading() {
  if (!thread_.joinable()) return;
  std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
  sockets_.clear();
  for (Connection& connection : connections_) connection.session->stop();
}

bool PushListener::finish(std::chrono::milliseconds limit) {
  stop_reading();
  return sessions_.join_for(limit);
}

}  // namespace zazen
