// PushListener: the port on which writers of other machines push (`listen`), and their
// sessions.
//
// It has threads of its own: nothing here holds up the programs of this node. Connections that
// have not proved themselves are few, and the oldest of them gives way to a new one, so that
// whoever sits there in silence keeps nobody out. One that gives way may hang (in MUNGE, say):
// the listener does not wait for its end, and takes nobody while kMostUnproved of them hang.
#pragma once
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bodhi/push_address.h"
#include "bodhi/worker_threads.h"
#include "daemon/push_session.h"

namespace zazen {

class PushListener {
 public:
  static constexpr std::size_t kMostUnproved = 32;

  // Could it listen there? The configuration has `listen`. The errors are whole sentences.
  static Status check(const Config& config);
  static Result<std::unique_ptr<PushListener>> listen(
      const Config& config, Store& store, KeyRing& keys, PushCounts& counts,
      std::function<void(FillRequest)> take, std::function<int(std::string_view)> take_notice);
  ~PushListener() { finish(); }

  // Nobody new comes, and nothing more is read.
  void stop_reading();
  // Ends when what was read whole is answered, or after a while. After that the store's
  // answers, if any come, go nowhere. False: a session hangs; the process must end without
  // destructors.
  bool finish(std::chrono::milliseconds limit = std::chrono::hours(1));

 private:
  static Result<std::vector<SocketAddress>> plan(const Config& config,
                                                 const Result<Credentials>& credentials);
  struct Connection {
    std::shared_ptr<PushSession> session;
    bool aborted = false;
  };

  PushListener(const Config& config, Store& store, KeyRing& keys, PushCounts& counts,
               std::function<void(FillRequest)> take,
               std::function<int(std::string_view)> take_notice);
  Status open(const SocketAddress& address);
  void run();
  void accept_writer(int socket);
  bool make_way();  // false: too many hang
  void pause();
  void look_at_sessions();

  PushTerms terms_;
  std::vector<UniqueFd> sockets_;
  UniqueFd stop_;
  std::thread thread_;
  std::list<Connection> connections_;  // the oldest first; of the thread, until it has ended
  WorkerThreads sessions_;
};

}  // namespace zazen
