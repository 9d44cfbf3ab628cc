// One epoll, level triggered. A client is watched for input only while it may ask for more,
// and for output only while answers wait.
#include "daemon/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <span>

#include "bodhi/table.h"
#include "daemon/log.h"
#include "daemon/peer_identity.h"
#include "daemon/seating.h"
#include "daemon/shortage.h"
#include "daemon/start_error.h"

namespace zazen {
namespace {

constexpr std::uint64_t kListener = 1, kOutbox = 2, kStop = 3;
constexpr std::int64_t kTickMs = 1'000;
constexpr int kPacketsInARow = 32;            // then it is another client's turn
constexpr std::size_t kRequestsOfAUser = 64;  // in one round
constexpr int kAcceptedInARow = 128, kAdmittedInARow = 16;
constexpr std::size_t kMostEvents = 1'024;
constexpr int kMostLooks = 8;  // at clients that might give way

// The least that the kernel allows: a few answers. The descriptors among them are in flight
// until the client takes them, and of those a user may have only so many.
void keep_few_in_flight(int socket) {
  int least = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
}

bool has_taken_all(int socket) {
  int unread = 0;
  return ::ioctl(socket, SIOCOUTQ, &unread) == 0 && unread == 0;
}

std::uint64_t content_bytes(const Answer& answer) {
  struct stat st = {};
  if (!answer.content || ::fstat(answer.content->get(), &st) != 0) return 0;
  return static_cast<std::uint64_t>(st.st_size);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(const std::string& runtime, Service& service,
                                               std::size_t client_limit, bool all_users) {
  std::unique_ptr<Server> server(new Server(runtime, service, client_limit, all_users));
  std::string path = runtime + "/" + kSocketFile;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed_call("socket " + path);
  server->listener_ =
      UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Through the directory's descriptor: a socket's address has room for 107 bytes only.
  UniqueFd directory(::open(runtime.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/{}",
                   directory.get(), kSocketFile);
  if (!server->listener_.valid() || !directory.valid() ||
      ::bind(server->listener_.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof address) != 0 ||
      ::chmod(path.c_str(), all_users ? 0666 : 0600) != 0 ||
      ::listen(server->listener_.get(), kBacklog) != 0) {
    return failed_call("socket " + path);
  }
  server->epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!server->epoll_.valid() || !server->watch(server->listener_.get(), kListener) ||
      !server->watch(service.outbox().event_fd(), kOutbox)) {
    return failed_call("epoll");
  }
  return server;
}

bool Server::watch(int fd, std::uint64_t id) {
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = id}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Server::run(int stop_fd, const std::function<void()>& beat,
                 const std::function<void()>& tick) {
  watch(stop_fd, kStop);
  std::int64_t next_beat_ms = monotonic_ms(), next_tick_ms = next_beat_ms;
  std::array<epoll_event, kMostEvents> events;
  for (;;) {
    bool waiting = newcomers_.size() > 0 && has_seats();
    int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                             waiting ? 0 : static_cast<int>(kHeartbeatPeriodMs));
    std::span<epoll_event> ready(events.data(), static_cast<std::size_t>(std::max(count, 0)));
    bool stop = false, answers = false, knocks = false;
    for (const epoll_event& event : ready) {
      stop = stop || event.data.u64 == kStop;
      answers = answers || event.data.u64 == kOutbox;
      knocks = knocks || event.data.u64 == kListener;
    }
    if (stop) return;
    if (answers) deliver(service_.outbox().take());
    requests_left_.clear();
    // Whoever comes last may find that nothing is left for his user: so each round begins with
    // another.
    if (!ready.empty()) {
      std::size_t first = ++round_ % ready.size();
      std::ranges::rotate(ready, ready.begin() + static_cast<std::ptrdiff_t>(first));
    }
    for (const epoll_event& event : ready) serve(event.data.u64, event.events);
    if (knocks) despite_shortage([&] { accept_newcomers(); });
    despite_shortage([&] { admit_newcomers(); });
    // A message that was lost may have told of a change.
    if (has_lost_) has_lost_ = !despite_shortage([&] { service_.doubt_all(); });
    const std::int64_t now_ms = monotonic_ms();
    if (now_ms >= next_beat_ms) {
      next_beat_ms = now_ms + kHeartbeatPeriodMs;
      despite_shortage(beat);
    }
    if (now_ms >= next_tick_ms) {
      next_tick_ms = now_ms + kTickMs;
      despite_shortage([&] {
        pause_accepting(!has_seats() && !make_room(::geteuid()));
        tick();
      });
    }
  }
}

void Server::withdraw() {
  listener_.reset();
  ::unlink((runtime_ + "/" + kSocketFile).c_str());
}

void Server::send_last_answers() {
  deliver(service_.outbox().take());
  clients_.clear();
}

void Server::accept_newcomers() {
  for (int i = 0; i < kAcceptedInARow && newcomers_.size() < 2 * client_limit_; ++i) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Without descriptors or memory it is tried again at the next tick.
      if (errno != EAGAIN) pause_accepting(true);
      return;
    }
    struct ucred peer = {};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) continue;
    // Our own user waits for his turn, however many he is.
    bool own = peer.uid == own_uid_;
    if (!own && !all_users_) continue;
    newcomers_.add({std::move(socket), peer.uid, peer.pid},
                   own ? std::nullopt : std::optional(client_limit_));
  }
}

void Server::admit_newcomers() {
  for (int i = 0; i < kAdmittedInARow && has_seats(); ++i) {
    std::optional<Newcomer> next = newcomers_.next();
    if (!next) return;
    admit(std::move(*next));
  }
}

void Server::admit(Newcomer newcomer) {
  const std::uint64_t id = next_id_++;
  if (despite_shortage([&] { welcome(newcomer, id); })) return;
  has_lost_ = true;
  close(id);
}

// Most have asked already. Who is gone again, or talks nonsense, is not looked at any closer.
void Server::welcome(Newcomer& newcomer, std::uint64_t id) {
  UniqueFd socket = std::move(newcomer.socket);
  Packet first;
  Received received = receive_packet(socket.get(), &first);
  if (received == Received::kClosed || received == Received::kMalformed) {
    // What else it has in the line is most likely the same, and not worth a look each.
    if (newcomer.pid != 0) newcomers_.dismiss(newcomer.uid, newcomer.pid);
    return;
  }
  Peer peer = identify_peer(socket.get());
  if (peer == nullptr) return;
  bool has_room = clients_.size() < client_limit_ || make_room(peer->uid);
  // Our own user waits for a place; of another, who has all of them busy, there is one too
  // many.
  if (!has_room && !is_own_user(*peer)) return;
  service_.welcome(*peer);
  keep_few_in_flight(socket.get());
  Client& client = clients_[id];
  client.socket = std::move(socket);
  client.id = id;
  client.peer = std::move(peer);
  client.last_turn = ++turn_;
  if (received == Received::kPacket && !take(client, first)) return close(id);
  update_watch(client);
  if (!has_room) pause_accepting(true);
}

bool Server::make_room(uid_t newcomer) {
  for (int look = 0; look < kMostLooks; ++look) {
    std::vector<Seat> seats;
    seats.reserve(clients_.size());
    for (const auto& [id, client] : clients_) {
      bool is_served = client.stalled || client.open_requests > client.output.size();
      seats.push_back({id, client.peer->uid, client.last_turn, is_served});
    }
    std::optional<std::uint64_t> quietest = who_gives_way(seats, newcomer);
    if (!quietest) return false;
    // It may have spoken, and not been heard yet.
    Client& client = clients_.find(*quietest)->second;
    std::uint64_t last_turn = client.last_turn;
    bool may_read = (client.watched & EPOLLIN) != 0;
    std::size_t& left = requests_left(client.peer->uid);
    left = std::max<std::size_t>(left, 1);
    if (may_read && read_requests(client) && client.last_turn != last_turn) {
      update_watch(client);
      continue;
    }
    close(*quietest);
    return true;
  }
  return false;
}

void Server::pause_accepting(bool pause) {
  if (accepting_ != pause) return;
  accepting_ = !pause;
  epoll_event event = {.events = pause ? 0U : EPOLLIN, .data = {.u64 = kListener}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

void Server::serve(std::uint64_t id, std::uint32_t events) {
  auto it = clients_.find(id);
  if (it == clients_.end()) return;
  Client& client = it->second;
  bool keep = false;
  if (!despite_shortage([&] { keep = talk(client, events); })) has_lost_ = true;
  if (!keep) return close(id);
  update_watch(client);
}

bool Server::talk(Client& client, std::uint32_t events) {
  if (!client.output.empty() && !write_answers(client)) return false;
  // A peer that has closed may have left requests: they are read before the end is seen.
  bool may_read = (client.watched & EPOLLIN) != 0;
  if (!may_read || (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return true;
  return read_requests(client);
}

bool Server::read_requests(Client& client) {
  std::size_t& left = requests_left(client.peer->uid);
  for (int i = 0; i < kPacketsInARow && left > 0; ++i) {
    if (client.stalled || client.open_requests >= kOpenRequests) return true;
    Packet packet;
    switch (receive_packet(client.socket.get(), &packet)) {
      case Received::kNothing:
        return true;
      case Received::kClosed:
      case Received::kMalformed:
        return false;
      case Received::kPacket:
        break;
    }
    --left;
    if (!take(client, packet)) return false;
  }
  return true;
}

bool Server::take(Client& client, Packet& packet) {
  client.last_turn = ++turn_;
  if (packet.is_answered()) ++client.open_requests;
  switch (service_.take(client.id, client.peer, packet)) {
    case Service::Taken::kYes:
      break;
    case Service::Taken::kNonsense:
      return false;
    case Service::Taken::kLater:
      client.stalled = std::move(packet);
      break;
  }
  return true;
}

std::size_t& Server::requests_left(uid_t uid) {
  auto found = std::ranges::find(requests_left_, uid, &std::pair<uid_t, std::size_t>::first);
  if (found == requests_left_.end())
    found = requests_left_.insert(found, {uid, kRequestsOfAUser});
  return found->second;
}

bool Server::write_answers(Client& client) {
  while (!client.output.empty()) {
    int code = send_answer(client.socket.get(), client.output.front());
    if (code == EAGAIN) return true;
    if (code != 0) return false;
    client.output.pop_front();
    --client.open_requests;
  }
  return true;
}

void Server::deliver(std::vector<Answer> answers) {
  for (Answer& answer : answers) {
    auto it = clients_.find(answer.client);
    if (it == clients_.end()) continue;  // it did not wait
    bool keep = false;
    despite_shortage([&] { keep = hand_over(it->second, answer); });
    keep ? update_watch(it->second) : close(answer.client);
  }
  if (service_.outbox().has_lost()) close_those_who_wait();
  if (unread_bytes_ > kMostUnreadBytes) shed_unread();
  for (auto next = clients_.begin(); next != clients_.end();) {
    auto& [id, client] = *next++;
    if (!client.stalled) continue;
    Service::Taken taken = Service::Taken::kNonsense;
    despite_shortage([&] { taken = service_.take(id, client.peer, *client.stalled); });
    if (taken == Service::Taken::kNonsense) {
      close(id);
      continue;
    }
    if (taken == Service::Taken::kYes) client.stalled.reset();
    update_watch(client);
  }
}

bool Server::hand_over(Client& client, Answer& answer) {
  const bool is_first = client.output.empty();
  const std::uint64_t bytes = content_bytes(answer);
  client.output.push_back(std::move(answer));
  client.unread_bytes += bytes;
  if (bytes > 0) ++client.unread_contents;
  unread_bytes_ += bytes;
  return !is_first || write_answers(client);
}

// One of them waits for an answer that there was no memory for.
void Server::close_those_who_wait() {
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto& [id, client] = *next++;
    if (client.open_requests > client.output.size()) close(id);
  }
}

void Server::shed_unread() {
  for (auto& [id, client] : clients_) {
    if (!client.output.empty() || !has_taken_all(client.socket.get())) continue;
    unread_bytes_ -= std::exchange(client.unread_bytes, 0);
    client.unread_contents = 0;
  }
  while (unread_bytes_ > kMostUnreadBytes) {
    auto most = std::ranges::max_element(clients_, [](const auto& a, const auto& b) {
      return std::pair(a.second.unread_bytes, b.second.last_turn) <
             std::pair(b.second.unread_bytes, a.second.last_turn);
    });
    if (most->second.unread_bytes == unread_bytes_ && most->second.unread_contents <= 1)
      return;  // one large answer is nobody's fault
    despite_shortage([&] {
      log_line(LogLevel::kWarn, "answers_not_taken",
               {{"uid", std::to_string(most->second.peer->uid)},
                {"bytes", std::to_string(most->second.unread_bytes)}});
    });
    close(most->first);
  }
}

void Server::update_watch(Client& client) {
  std::uint32_t wanted = 0;
  if (!client.stalled && !client.has_content_waiting() &&
      client.open_requests < kOpenRequests) {
    wanted |= EPOLLIN;
  }
  if (!client.output.empty()) wanted |= EPOLLOUT;
  if (wanted == client.watched) return;
  // Nothing wanted: taken out altogether, for a hang-up would be reported without end.
  int operation = wanted == 0           ? EPOLL_CTL_DEL
                  : client.watched == 0 ? EPOLL_CTL_ADD
                                        : EPOLL_CTL_MOD;
  epoll_event event = {.events = wanted, .data = {.u64 = client.id}};
  ::epoll_ctl(epoll_.get(), operation, client.socket.get(), &event);
  client.watched = wanted;
}

void Server::close(std::uint64_t id) {
  auto it = clients_.find(id);
  if (it == clients_.end()) return;
  unread_bytes_ -= it->second.unread_bytes;
  clients_.erase(it);
  if (has_seats()) pause_accepting(false);
}

}  // namespace zazen
