// One epoll, level triggered. A client is watched for input only while it may ask for more,
// and for output only while answers wait.
#include "daemon/worker/clients/server.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ranges>
#include <span>

#include "bodhi/lean/frames/table.h"
#include "bodhi/push/push_keys.h"
#include "daemon/process/log.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::uint64_t kWake = 1, kReplyQueue = 2;
constexpr std::int64_t kTickMs = 1'000;
constexpr int kPacketsInARow = 32;  // then it is another client's turn
constexpr int kAdmittedInARow = 16;
constexpr std::size_t kMostEvents = 1'024;
constexpr int kMostLooks = 8;  // at clients that might be closed for others

// The least value that the kernel allows: a few answers. Descriptors in answers are in flight
// until the client takes them, and the kernel limits their number for each user.
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

Result<std::unique_ptr<Server>> Server::make(ClientService& service, std::size_t client_limit) {
  std::unique_ptr<Server> server(new Server(service, client_limit));
  server->epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  server->wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->epoll_.valid() || !server->watch(server->wake_.get(), kWake) ||
      !server->watch(service.reply_queue().event_fd(), kReplyQueue)) {
    return last_error("epoll");
  }
  return server;
}

void Server::add(UniqueFd socket, pid_t pid) {
  std::lock_guard lock(mutex_);
  arrivals_.emplace_back(std::move(socket), pid);
  ::eventfd_write(wake_.get(), 1);
}

void Server::add_proved(UniqueFd socket, Proof proof) {
  std::lock_guard lock(mutex_);
  proved_.emplace_back(std::move(socket), std::move(proof));
  ::eventfd_write(wake_.get(), 1);
}

void Server::stop() {
  stopping_ = true;
  ::eventfd_write(wake_.get(), 1);
}

bool Server::is_idle() {
  std::lock_guard lock(mutex_);
  return arrivals_.empty() && proved_.empty() && clients_.empty() && queue_.empty();
}

bool Server::watch(int fd, std::uint64_t id) {
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = id}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Server::run(const std::function<void()>& tick) {
  std::int64_t next_tick_ms = monotonic_ms() + kTickMs;
  std::array<epoll_event, kMostEvents> events;
  while (!stopping_) {
    bool waiting = !queue_.empty() && has_seats();
    int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                             waiting ? 0 : static_cast<int>(kTickMs));
    std::span<epoll_event> ready(events.data(), static_cast<std::size_t>(std::max(count, 0)));
    bool answers = false, arrivals = false;
    for (const epoll_event& event : ready) {
      answers = answers || event.data.u64 == kReplyQueue;
      arrivals = arrivals || event.data.u64 == kWake;
    }
    if (answers) deliver(service_.reply_queue().take());
    for (const epoll_event& event : ready) serve(event.data.u64, event.events);
    if (arrivals) despite_shortage([&] { take_arrivals(); });
    for (int i = 0; i < kAdmittedInARow && !queue_.empty() && has_seats(); ++i) admit_next();
    // A lost message may have reported a change.
    if (has_lost_) has_lost_ = !despite_shortage([&] { service_.doubt_all(); });
    if (const std::int64_t now_ms = monotonic_ms(); now_ms >= next_tick_ms) {
      next_tick_ms = now_ms + kTickMs;
      despite_shortage([&] {
        if (!has_seats()) make_room();
        tick();
      });
    }
  }
}

void Server::send_last_answers() {
  deliver(service_.reply_queue().take());
  clients_.clear();
}

void Server::take_arrivals() {
  eventfd_t woken;
  ::eventfd_read(wake_.get(), &woken);
  std::vector<std::pair<UniqueFd, pid_t>> arrivals;
  std::vector<std::pair<UniqueFd, Proof>> proved;
  {
    std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
    proved.swap(proved_);
  }
  for (auto& [socket, proof] : proved) {
    admit_proved(std::move(socket), std::move(proof), next_id_++);
  }
  for (auto& [socket, pid] : arrivals) UniqueFd closed = queue_.add(socket, pid);
}

void Server::admit_next() {
  const ConnectionQueue::Front next = queue_.front();
  UniqueFd socket = std::move(next.socket);
  const pid_t pid = next.pid;
  queue_.pop();
  const std::uint64_t id = next_id_++;
  if (despite_shortage([&] { on_connect(std::move(socket), pid, id); })) return;
  has_lost_ = true;
  close(id);
}

// Most clients have sent a request already. A client that is gone or breaks the rules is
// dropped.
void Server::on_connect(UniqueFd socket, pid_t pid, std::uint64_t id) {
  Packet first;
  Received received = receive_packet(socket.get(), &first);
  if (received == Received::kClosed || received == Received::kMalformed) {
    // The other connections of this process are most likely the same.
    if (pid != 0) queue_.drop(pid);
    return;
  }
  bool has_room = clients_.size() < client_limit_ || make_room();
  // A connection of zazend's own user waits for a place. Other users have a limit, and all
  // their connections are busy here: this one is closed.
  if (!has_room && !service_.is_own_user()) return;
  keep_few_in_flight(socket.get());
  Client& client = clients_[id];
  client.socket = std::move(socket);
  client.id = id;
  client.last_turn = ++turn_;
  if (received == Received::kPacket && !take(client, first)) return close(id);
  update_watch(client);
}

// The listener bounds their number. One that finds no place is closed, and its user told so.
void Server::admit_proved(UniqueFd socket, Proof proof, std::uint64_t id) {
  if (clients_.size() >= client_limit_ && !make_room()) return;
  keep_few_in_flight(socket.get());
  Client& client = clients_[id];
  client.socket = std::move(socket);
  client.id = id;
  client.proof = std::move(proof);
  client.last_turn = ++turn_;
  update_watch(client);
}

bool Server::is_proved(Client& client, const Packet& packet) {
  if (std::exchange(client.has_asked, true)) return false;
  Bytes32 binding;
  if (client.proof->binding.size() != binding.size()) return false;
  std::memcpy(binding.data(), client.proof->binding.data(), binding.size());
  const Bytes32 digest = digest_of_request(binding, packet.bytes);
  return client.proof->digest.size() == digest.size() &&
         same_bytes(client.proof->digest.data(), digest.data(), digest.size()) &&
         packet.rule().is_carried;
}

// Closes the client that has been quiet longest and waits for no answer.
bool Server::make_room() {
  for (int look = 0; look < kMostLooks; ++look) {
    Client* quietest = nullptr;
    for (Client& client : std::views::values(clients_)) {
      const bool is_served = client.stalled || client.open_requests > client.output.size();
      if (is_served || (quietest != nullptr && quietest->last_turn < client.last_turn))
        continue;
      quietest = &client;
    }
    if (quietest == nullptr) return false;
    // A request of this client may be unread.
    const std::uint64_t last_turn = quietest->last_turn;
    const bool may_read = (quietest->watched & EPOLLIN) != 0;
    if (may_read && read_requests(*quietest) && quietest->last_turn != last_turn) {
      update_watch(*quietest);
      continue;
    }
    close(quietest->id);
    return true;
  }
  return false;
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
  // A client that has closed may have left requests: they are read before the end is seen.
  bool may_read = (client.watched & EPOLLIN) != 0;
  if (!may_read || (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return true;
  return read_requests(client);
}

bool Server::read_requests(Client& client) {
  for (int i = 0; i < kPacketsInARow; ++i) {
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
    if (!take(client, packet)) return false;
  }
  return true;
}

bool Server::take(Client& client, Packet& packet) {
  client.last_turn = ++turn_;
  if (client.proof && !is_proved(client, packet)) return false;
  if (packet.is_answered()) ++client.open_requests;
  switch (service_.take(client.id, packet)) {
    case ClientService::Taken::kYes:
      break;
    case ClientService::Taken::kNonsense:
      return false;
    case ClientService::Taken::kLater:
      client.stalled = std::move(packet);
      break;
  }
  return true;
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
    if (it == clients_.end()) continue;  // the client has gone
    bool keep = false;
    despite_shortage([&] { keep = hand_over(it->second, answer); });
    keep ? update_watch(it->second) : close(answer.client);
  }
  if (service_.reply_queue().has_lost()) close_those_who_wait();
  if (unread_bytes_ > kMostUnreadBytes) shed_unread();
  for (auto next = clients_.begin(); next != clients_.end();) {
    auto& [id, client] = *next++;
    if (!client.stalled) continue;
    ClientService::Taken taken = ClientService::Taken::kNonsense;
    despite_shortage([&] { taken = service_.take(id, *client.stalled); });
    if (taken == ClientService::Taken::kNonsense) {
      close(id);
      continue;
    }
    if (taken == ClientService::Taken::kYes) client.stalled.reset();
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

// One of them waits for the answer that was lost.
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
      return;  // one large answer is allowed
    despite_shortage([&] {
      log_line(LogLevel::kWarn, "answers_not_taken",
               {{"uid", std::to_string(::geteuid())},
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
  // A client without wanted events is removed from epoll, which would report a hang-up
  // repeatedly.
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
}

}  // namespace zazen
