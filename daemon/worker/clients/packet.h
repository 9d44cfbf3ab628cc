// Receives one message of a local client and sends one answer, each by a single non-blocking
// system call.
#pragma once
#include <cstring>
#include <memory>
#include <string>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/wire.h"

namespace zazen {

struct Packet {
  std::string bytes;  // header and body; message_is_valid() has accepted them
  UniqueFd passed;    // the descriptor that came with it, if any

  MessageHeader header() const {
    MessageHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  }
  const MessageRule& rule() const { return *find_rule(header().type); }
  bool is_answered() const {
    Answered answered = rule().answered;
    return answered == Answered::kAlways ||
           (answered == Answered::kIfAsked && (header().flags & kWaitForIt) != 0);
  }
};

enum class Received { kPacket, kNothing, kClosed, kMalformed };
Received receive_packet(int socket, Packet* out);

struct Answer {
  std::uint64_t client = 0;
  std::uint64_t request = 0;
  int status = 0;
  std::string body;
  std::shared_ptr<const UniqueFd> content;  // several clients may get the same
};
// 0, EAGAIN if the client's buffer is full, or another errno if the client is gone.
int send_answer(int socket, const Answer& answer);

}  // namespace zazen
