// Server: the unix socket, its clients, and the one thread that talks to them. Nothing here
// blocks: sockets are non-blocking, a client that does not read its answers or has enough
// requests open is not read from, and a malformed packet closes the connection.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "bodhi/result.h"
#include "bodhi/unique_fd.h"
#include "daemon/service.h"

namespace zazen {

class Server {
 public:
  static constexpr int kBacklog = 4096;
  static constexpr std::size_t kOpenRequests = 256;  // for each client

  // Binds <runtime>/socket; a dead daemon's socket is replaced. The errors are whole
  // sentences.
  static Result<std::unique_ptr<Server>> listen(const std::string& runtime, Service& service,
                                                std::size_t client_limit,
                                                bool all_users = false);

  // Serves until stop_fd is readable. `tick` is called about once a second.
  void run(int stop_fd, const std::function<void()>& tick);
  // Takes the socket's name away: nobody new comes.
  void withdraw();
  // Sends the answers that the service has left, as far as the clients take them.
  void send_last_answers();

 private:
  struct Client {
    UniqueFd socket;
    std::uint64_t id = 0;
    Peer peer;
    std::size_t open_requests = 0;
    std::deque<Answer> output;
    std::optional<Packet> stalled;  // waits for room in the service
    std::uint32_t watched = 0;      // epoll events that are asked for
  };

  Server(std::string runtime, Service& service, std::size_t client_limit, bool all_users)
      : runtime_(std::move(runtime)),
        service_(service),
        client_limit_(client_limit),
        all_users_(all_users) {}
  bool watch(int fd, std::uint64_t id);
  void accept_clients();
  void pause_accepting(bool pause);
  void serve(std::uint64_t id, std::uint32_t events);
  bool read_requests(Client& client);  // false: close it
  bool write_answers(Client& client);  // false: close it
  void deliver(std::vector<Answer> answers);
  void update_watch(Client& client);
  void close(std::uint64_t id);

  const std::string runtime_;
  Service& service_;
  const std::size_t client_limit_;
  const bool all_users_;
  UniqueFd listener_;
  UniqueFd epoll_;
  bool accepting_ = true;
  std::uint64_t next_id_ = 16;  // the first few are not clients
  std::unordered_map<std::uint64_t, Client> clients_;
};

}  // namespace zazen
