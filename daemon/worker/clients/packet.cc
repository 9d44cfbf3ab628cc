#include "daemon/worker/clients/packet.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "bodhi/lean/system/fd_link.h"

namespace zazen {

Received receive_packet(int socket, Packet* out) {
  char buffer[kMaxMessage];
  Arrival arrival = receive_once(socket, buffer, sizeof buffer);
  out->passed.reset(arrival.passed_fd);
  if (arrival.size == -EAGAIN) return Received::kNothing;
  if (arrival.size == -EMSGSIZE) return Received::kMalformed;
  if (arrival.size <= 0) return Received::kClosed;
  auto size = static_cast<std::size_t>(arrival.size);
  Descriptor came = out->passed.valid() ? Descriptor::kOne : Descriptor::kNone;
  if (!arrival.is_whole || !message_is_valid(buffer, size, came)) return Received::kMalformed;
  out->bytes.assign(buffer, size);
  return Received::kPacket;
}

// Each client gets an open file of its own, for reading: several may get the same content, and
// none can move another one's position.
int send_answer(int socket, const Answer& answer) {
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = MessageType::kReply;
  header.length = static_cast<std::uint32_t>(answer.body.size());
  header.request = answer.request;
  header.status = answer.status;
  struct iovec parts[2] = {{&header, sizeof header},
                           {const_cast<char*>(answer.body.data()), answer.body.size()}};
  UniqueFd own;
  if (answer.content) {
    own.reset(::open(FdLink(answer.content->get()).text(), O_RDONLY | O_CLOEXEC));
    if (!own.valid()) return errno;
  }
  const int passed = own.get();
  int code = -send_once(socket, parts, {&passed, own.valid() ? 1u : 0u});
  return code == ENOBUFS || code == ETOOMANYREFS ? EAGAIN : code;
}

}  // namespace zazen
