// Newcomers: connections that were accepted and not served yet. Users take turns, and so do the
// processes of a user: who connects without end waits behind himself, and anybody else is next
// after one of his connections.
//
// The kernel queues all in one line. To reach those behind a flood it must be taken in, so that
// has to be cheap: one connection here is a descriptor, and one too many is closed at once.
// Pure but for that; not thread safe.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <optional>

#include "bodhi/unique_fd.h"

namespace zazen {

struct Newcomer {
  UniqueFd socket;
  uid_t uid = 0;
  pid_t pid = 0;  // 0: not to be seen from here
};

class Newcomers {
 public:
  static constexpr std::size_t kMostOfAProcess = 512;

  // False, and the socket is closed: that process, or with `of_a_user` that user, has as many
  // waiting as it may have.
  bool add(Newcomer newcomer, std::optional<std::size_t> of_a_user);
  std::optional<Newcomer> next();
  // Closes all that wait of a process.
  void dismiss(uid_t uid, pid_t pid);
  std::size_t size() const { return size_; }

 private:
  struct User {
    std::map<pid_t, std::deque<UniqueFd>> processes;  // each with at least one
    std::list<pid_t> turns;
    std::size_t waiting = 0;
  };

  std::map<uid_t, User> users_;
  std::list<uid_t> turns_;
  std::size_t size_ = 0;
};

}  // namespace zazen
