// Link: the way between zazend and one worker (D23).
//
// zazend sends over a socket that it never reads, and reads from a pipe, which carries no
// descriptors: whatever a worker does, none of its descriptors comes into zazend, where closing
// it might block. The worker's sends to the socket fail (SHUT_RD).
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "bodhi/common/unique_fd.h"
#include "daemon/link/link_messages.h"

namespace zazen {

inline constexpr std::size_t kLongestLinkBody = 160 << 10, kLinkHeaderBytes = 24;

struct LinkTag {  // what a reply repeats
  LinkType type;
  std::uint64_t request;  // 0: there is no reply
};

struct LinkPacket {
  LinkType type = {};
  bool is_reply = false;
  std::uint64_t request = 0;  // a reply repeats it; 0: there is no reply
  std::int32_t status = 0;    // of a reply
  std::string body;
  std::vector<UniqueFd> files;  // from zazend to the worker only; kMostPassed at most

  LinkTag tag() const { return {type, request}; }
  LinkPacket copy() const { return {type, is_reply, request, status, body, {}}; }  // no files
  UniqueFd take_file() {  // of a message with one at most
    return files.empty() ? UniqueFd() : std::move(files.front());
  }
};

// The packet of an ask or an order.
template <class Message>
LinkPacket packet_of(Message message) {
  LinkPacket packet;
  packet.type = kLinkType<Message>;
  packet.body = encode_link_body(message);
  return packet;
}

struct LinkEnds {
  UniqueFd send;     // zazend's socket
  UniqueFd receive;  // zazend's end of the pipe
  UniqueFd worker_receive, worker_send;
};
Result<LinkEnds> make_link();

// zazend's side. Nothing here blocks.
// 0, EAGAIN if the worker has not read enough, EMSGSIZE, or another errno: it is gone.
int send_to_worker(int socket, const LinkPacket& packet);

class LinkReader {  // the packets in the pipe's bytes
 public:
  enum class Got { kPacket, kNothing, kClosed, kMalformed };
  // Reads from the pipe what is needed for the next packet, as far as it is there.
  Got next(int pipe, LinkPacket* out);
  // next() would read nothing from the pipe: nobody is told that there is a packet.
  bool has_packet() const;

 private:
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what was read and is not used yet
};

// The worker's side. Blocks; false: zazend is gone.
bool receive_from_zazend(int socket, LinkPacket* out);

// What a worker sends. zazend does not read from a worker that does not take its replies. So
// the thread that takes them must never wait for room in the pipe: the pipe does not block, and
// what such a thread sends is kept until there is room. Thread safe.
class LinkWriter {
 public:
  enum class Full { kWait, kKeep };  // kWait: for room in the pipe

  explicit LinkWriter(int pipe);
  // False: it is too long, or zazend is gone.
  bool send(const LinkPacket& packet, Full full = Full::kWait);
  // Sends what is kept, until the socket can be read from.
  void send_kept(int socket);

 private:
  void write_kept();  // what fits; mutex_ is held

  std::mutex mutex_;
  const int pipe_;
  std::string kept_;
  std::size_t begin_ = 0;                  // of what is kept and not written yet
  std::uint64_t taken_ = 0, written_ = 0;  // bytes, since the beginning
  bool is_gone_ = false;
};

}  // namespace zazen
