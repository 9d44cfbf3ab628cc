// Server: the connections of one user's programs, and the one thread that serves them. It never
// blocks: sockets are non-blocking. A client that does not read its answers, or has too many
// open requests, is not read from. A malformed packet closes the connection.
//
// A connection may be idle for ever. When all places are taken, a new one replaces the idlest.
// Unread answers hold memory: beyond kMostUnreadBytes the client that left most of them is
// closed.
//
// In each round the server handles answers first, then the known clients, then new connections,
// process by process (connection_queue.h). Each gets a bounded amount of work, so a flood
// delays only the process that sends it.
//
// A client whose message or answer finds no memory is closed; the others are served.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "daemon/threads/connection_queue.h"
#include "daemon/worker/clients/client_service.h"

namespace zazen {

class Server {
 public:
  static constexpr std::size_t kOpenRequests = 256;  // for each client
  static constexpr std::uint64_t kMostUnreadBytes = 512 << 20;

  // The errors are whole sentences.
  static Result<std::unique_ptr<Server>> make(ClientService& service, std::size_t client_limit);

  // Adds a connection of the process `pid` that zazend has accepted. From any thread.
  void add(UniqueFd socket, pid_t pid);
  // A connection on which a user of another machine makes one request. MUNGE has proved that
  // the user made the request of this digest in the session with this binding.
  struct Proof {
    std::string binding, digest;
  };
  void add_proved(UniqueFd socket, Proof proof);
  // Serves until stop() is called, from any thread. Calls `tick` about once a second.
  void run(const std::function<void()>& tick);
  void stop();
  // True if no client is connected, or was a moment ago. For run()'s thread.
  bool is_idle();
  // Sends the answers that the service has left, as far as the clients take them.
  void send_last_answers();

 private:
  struct Client {
    UniqueFd socket;
    std::uint64_t id = 0;
    std::uint64_t last_turn = 0;
    std::size_t unread_contents = 0;
    std::uint64_t unread_bytes = 0;  // of contents that it has been sent and has not taken
    std::size_t open_requests = 0;
    std::deque<Answer> output;
    std::optional<Packet> stalled;  // waits for room in the service
    std::optional<Proof> proof;     // of the only message that is taken
    bool has_asked = false;
    std::uint32_t watched = 0;  // epoll events that it is registered for

    // Contents hold descriptors and memory: a client with unread ones is not read from.
    bool has_content_waiting() const {
      return std::ranges::any_of(output,
                                 [](const Answer& one) { return one.content != nullptr; });
    }
  };

  // All connections of zazend's own user may wait in the queue.
  Server(ClientService& service, std::size_t client_limit)
      : service_(service),
        client_limit_(client_limit),
        queue_(service.is_own_user() ? std::numeric_limits<std::size_t>::max() : client_limit) {
  }
  bool watch(int fd, std::uint64_t id);
  void take_arrivals();
  void admit_next();
  void on_connect(UniqueFd socket, pid_t pid, std::uint64_t id);
  void admit_proved(UniqueFd socket, Proof proof, std::uint64_t id);
  bool has_seats() const { return clients_.size() <= client_limit_; }
  void serve(std::uint64_t id, std::uint32_t events);
  bool talk(Client& client, std::uint32_t events);  // false: close it
  bool make_room();                                 // false: no client can be closed
  bool read_requests(Client& client);               // false: close it
  static bool is_proved(Client& client, const Packet& packet);
  bool take(Client& client, Packet& packet);  // false: close it
  bool write_answers(Client& client);         // false: close it
  void deliver(std::vector<Answer> answers);
  bool hand_over(Client& client, Answer& answer);  // false: close it
  void close_those_who_wait();
  void shed_unread();
  void update_watch(Client& client);
  void close(std::uint64_t id);

  ClientService& service_;
  const std::size_t client_limit_;
  UniqueFd epoll_, wake_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<std::pair<UniqueFd, pid_t>> arrivals_;
  std::vector<std::pair<UniqueFd, Proof>> proved_;
  ConnectionQueue queue_;
  bool has_lost_ = false;       // a message was lost for want of memory
  std::uint64_t next_id_ = 16;  // the first few are not clients
  std::uint64_t turn_ = 0;
  std::uint64_t unread_bytes_ = 0;  // of all clients
  std::unordered_map<std::uint64_t, Client> clients_;
};

}  // namespace zazen
