// Client: a connection to the daemon of one node, for the tools, the writers and the protocol.
// Every call is bounded by a timeout. ETIMEDOUT and ECONNREFUSED mean that the daemon does not
// answer. Not thread safe.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/wire.h"

namespace zazen {

// The way to a daemon of another machine.
class RequestLink {
 public:
  struct Answer {
    int status = 0;  // 0 or an errno
    std::string body;
    std::string content;  // of the descriptor that a local client would get
  };
  virtual ~RequestLink() = default;
  // An error: the node does not answer, or does not take this packet.
  virtual Result<Answer> ask(std::string_view packet) = 0;
};

struct ClientReply;

class Client {
 public:
  static Result<Client> connect(const std::string& runtime, int timeout_ms = 5'000);
  // The time limit is for silence: a daemon that tells its status meanwhile is at work.
  static Result<Client> connect_patiently(const std::string& runtime, int timeout_ms);
  // Requests that pass a descriptor fail with EOPNOTSUPP.
  explicit Client(std::unique_ptr<RequestLink> link);

  // Status as JSON text.
  Result<std::string> status();
  // The daemon reads its configuration again. Returns what came of it as JSON text
  // (daemon/service/reload.h). Needs a long time limit.
  Result<std::string> reload();
  // A dataset of this user, or its end. EPERM: the operator does not allow it; the other errors
  // are those of Reload::add_user_dataset() (daemon/service/reload.h).
  Status add_dataset(const std::string& path, const std::string& frames, bool takes_away);
  Result<std::vector<ListRecord>> list(const std::string& dataset);  // "": all
  Result<EvictReply> evict(const std::string& dataset, FrameSeq first, FrameSeq last,
                           std::uint32_t what);
  // The daemon reads copies and compares their checksums, then drops bad ones. One call checks
  // as many copies of the range as a short time allows, at least one. Needs a long time limit.
  struct Verified {
    VerifyReply figures;
    std::vector<VerifyFinding> findings;
  };
  Result<Verified> verify(const std::string& dataset, FrameSeq first, FrameSeq last);
  // Pins or unpins. The reply counts the frames of the range that the node holds.
  Result<EvictReply> pin(const std::string& dataset, FrameRange range, bool pinned);
  // The daemon compares a sample of its copies with the origin; see D10.
  Status sample(const std::string& dataset);
  Status keep_listing(const std::string& dataset, const std::string& encoded_listing);
  // From one daemon to another: an encoded ChangeNotice.
  Status tell(std::string_view notice);
  // Why a frame's copy is gone, as JSON text; see daemon/changes/drop_history.h.
  Result<std::string> history(const std::string& dataset, const std::string& name);

  // The daemon opens the frame by its name, with this user's rights, and copies it.
  Status fetch(const std::string& dataset, const std::string& name);

  // Pushes and fills are pipelined: start some, then collect as many answers. An answer of 0
  // says that the frame is durable on the node.
  Result<std::uint64_t> start_push(const std::string& dataset, const std::string& name,
                                   int origin_fd);
  // The frame's content itself: a sealed memory file, or a file of this user's.
  Result<std::uint64_t> start_push_content(const std::string& dataset, const std::string& name,
                                           int content_fd);
  // Starts a fill of a frame that no program has opened.
  Result<std::uint64_t> start_fill(const std::string& dataset, const std::string& name,
                                   int origin_fd);
  struct PushAnswer {
    std::uint64_t request;
    int status;  // 0 or an errno
  };
  Result<PushAnswer> next_push_answer();

 private:
  Client(UniqueFd socket, int timeout_ms)
      : socket_(std::move(socket)), timeout_ms_(timeout_ms) {}

  Result<ClientReply> exchange(const Result<std::string>& packet, int passed_fd = -1);
  bool is_at_work() const;
  Result<std::string> ask_for_text(MessageType type);
  Result<EvictReply> ask_for_range(MessageType type, const std::string& dataset,
                                   FrameRange range, std::uint32_t what);

  Result<std::uint64_t> hand_over(MessageType type, std::uint32_t flags,
                                  const std::string& dataset, const std::string& name,
                                  int origin_fd);

  std::unique_ptr<RequestLink> link_;  // or
  UniqueFd socket_;
  int timeout_ms_ = 0;
  std::string patient_;  // the runtime directory; "": is not
  std::uint64_t next_request_ = 1;
};

}  // namespace zazen
