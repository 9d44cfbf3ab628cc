// PushListener: takes writers of other machines on the port that zazend has opened (`listen`),
// in the worker that has the rights of nobody, and keeps their sessions.
//
// Connections that have not proved themselves are few, and the oldest of them gives way to a
// new one, so that a silent one keeps nobody out. One that gives way may hang (in MUNGE, say):
// the listener does not wait for its end, and takes nobody while kMostUnproved of them hang.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/common/worker_threads.h"
#include "bodhi/config/push_address.h"
#include "daemon/worker/push/push_session.h"

namespace zazen {

class PushListener {
 public:
  static constexpr std::size_t kMostUnproved = 32;

  PushListener(const Config& config, PushDesk& desk, KeyRing& keys, PushCounts& counts,
               std::uint16_t methods, uid_t own_uid);

  // A socket that listens: a thread of its own accepts there.
  void add(UniqueFd socket);
  // Nobody new comes, and nothing more is read; what was read whole is answered, as far as that
  // goes within the limit.
  void stop(std::chrono::milliseconds limit);

 private:
  struct Connection {
    std::shared_ptr<PushSession> session;
    bool aborted = false;
  };

  void run(int socket);
  // These four: mutex_ is held.
  void accept_writer(int socket);
  bool make_way();  // false: too many hang
  void pause();
  void look_at_sessions();

  PushTerms terms_;
  const UniqueFd stop_;
  std::mutex mutex_;
  std::list<Connection> connections_;  // the oldest first
  WorkerThreads threads_, sessions_;
};

}  // namespace zazen
