// NodeLink: a connection to the daemon of a node that takes pushes: "unix:RUNTIME" on this
// machine, "HOST:PORT" on another one. Pushes are pipelined: start some, then collect as many
// answers, which may come in any order.
//
// The time limit of each call is for silence: a daemon that reports that it is at work gets up
// to kLongestWork. ETIMEDOUT, ECONNREFUSED, ECONNRESET and EPIPE mean that the node does not
// answer; the link is then unusable. Not thread safe.
#pragma once
#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bodhi/common/result.h"
#include "bodhi/node/client.h"
#include "bodhi/node/frame_set.h"
#include "bodhi/push/key_ring.h"

namespace zazen {

struct PushContent {
  std::span<const std::byte> bytes;   // of the whole frame, valid until the answer arrives; or
  int fd = -1;                        // a file, from its beginning,
  std::uint64_t size = 0;             // and its size
  std::optional<struct stat> origin;  // the origin's file, if it exists already
};

struct PushAnswer {
  std::uint64_t request = 0;
  int status = 0;  // 0: the frame is durable on the node; else an errno
};

class NodeLink {
 public:
  static constexpr std::chrono::minutes kLongestWork{10};  // on one answer

  // EACCES: the two sides have no key in common.
  static Result<std::unique_ptr<NodeLink>> connect(const std::string& peer,
                                                   const Credentials& credentials,
                                                   int timeout_ms);
  virtual ~NodeLink() = default;

  // The key of a key file by which both sides proved themselves; "": another method.
  virtual const std::string& key() const {
    static const std::string kNone;
    return kNone;
  }

  // Returns when the frame is handed over or sent. The caller chooses the request's number.
  virtual Status start_push(std::uint64_t request, const std::string& dataset,
                            const std::string& name, const PushContent& content) = 0;
  virtual Result<PushAnswer> next_answer() = 0;
  // The frames of the dataset that the node holds as natives.
  virtual Result<FrameSet> natives(const std::string& dataset) = 0;
  // Reports changed frames (change_notice.h) and waits for the answer; no push may be under
  // way. EOPNOTSUPP: a daemon of an older version, without notices.
  virtual Status tell(std::string_view notice) = 0;
};

// A client of the daemon of any node. The time limit is for silence. EOPNOTSUPP: the node's
// daemon is of an older version.
Result<Client> connect_client(const std::string& peer, const Credentials& credentials,
                              int timeout_ms);

// The two kinds of links: local_link.cc and network_link.cc.
Result<std::unique_ptr<NodeLink>> connect_local_link(const std::string& runtime,
                                                     int timeout_ms);
Result<std::unique_ptr<NodeLink>> connect_network_link(const std::string& peer,
                                                       const Credentials& credentials,
                                                       int timeout_ms);

}  // namespace zazen
