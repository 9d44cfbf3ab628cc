// CarriedRequests: requests that come from other machines (PushType::kRequest). The listener
// passes each on through zazend's socket as any client of this machine does. So zazend, the
// worker of the user and their rules take it for what it is: a message of a local client.
//
// The listener has the rights of zazend's user with `users = "own"`, and those of nobody with
// `users = "all"`: a session that proves a key and no user is admitted to public messages only.
//
// One request at a time; each has a connection of its own. Not thread safe.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/wire.h"

namespace zazen {

class CarriedRequests {
 public:
  CarriedRequests(std::string runtime, bool all_users)
      : runtime_(std::move(runtime)), all_users_(all_users) {}

  // 0, or why the packet is refused: EINVAL it is no message, EOPNOTSUPP none that another
  // machine may send, EPERM none for a holder of the key, or an errno of zazend's socket.
  int begin(std::string_view packet);
  // The same on a connection of a user's, who may ask whatever a local one may.
  int begin(std::string_view packet, UniqueFd connection);
  // Readable when there may be an answer.
  int fd() const { return connection_.get(); }

  struct Answer {
    int status = 0;
    std::string body;
    UniqueFd content;  // of a file in memory, or none
    std::uint64_t content_bytes = 0;
  };
  // None: the answer has not come yet.
  std::optional<Answer> take();
  void forget() { connection_.reset(); }  // the answer is not wanted

 private:
  int check(std::string_view packet, bool only_public);
  int send(std::string_view packet, UniqueFd connection);
  void read_answer(std::string_view packet, Answer* answer) const;

  const std::string runtime_;
  const bool all_users_;
  UniqueFd connection_;
  std::uint64_t request_ = 0;
};

}  // namespace zazen
