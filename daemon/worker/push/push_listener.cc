#include "daemon/worker/push/push_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "daemon/process/crash_report.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr int kSignMs = 200, kPauseMs = 100;

}  // namespace

PushListener::PushListener(const Config& config, PushDesk& desk, KeyRing& keys,
                           PushCounts& counts, std::uint16_t methods, uid_t own_uid)
    : terms_{config,  desk,    keys, counts, RateLimit(config.max_rate_bytes),
             methods, own_uid, {}},
      stop_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void PushListener::add(UniqueFd socket) {
  auto shared = std::make_shared<UniqueFd>(std::move(socket));
  threads_.start([this, shared] {
    CrashStack crash_stack;
    until_no_shortage([&] { run(shared->get()); });
  });
}

void PushListener::run(int socket) {
  struct pollfd entries[] = {{stop_.get(), POLLIN, 0}, {socket, POLLIN, 0}};
  std::chrono::steady_clock::time_point said_at;
  for (;;) {
    ::poll(entries, std::size(entries), kSignMs);
    if ((entries[0].revents & POLLIN) != 0) return;
    std::lock_guard lock(mutex_);
    std::erase_if(connections_, [](const Connection& one) { return one.session->has_ended(); });
    // However often somebody connects.
    if (const auto now = std::chrono::steady_clock::now();
        now - said_at >= std::chrono::milliseconds(kSignMs)) {
      look_at_sessions();
      said_at = now;
    }
    if ((entries[1].revents & POLLIN) != 0) accept_writer(socket);
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
  terms_.desk.flush();  // what waits for an answer that does not come
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
  ::poll(&stop, 1, kPauseMs);
}

void PushListener::stop(std::chrono::milliseconds limit) {
  ::eventfd_write(stop_.get(), 1);
  threads_.join_for(limit);
  {
    std::lock_guard lock(mutex_);
    for (Connection& connection : connections_) connection.session->stop();
  }
  sessions_.join_for(limit);
}

}  // namespace zazen
