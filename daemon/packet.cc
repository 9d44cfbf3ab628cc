#include "daemon/packet.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "bodhi/fd_link.h"

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

// Each client has an open file of its own, for reading: several may get the same content, and
// none can move the position of another.
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
  int code = -send_once(socket, parts, own.get());
  return code == ENOBUFS || code == ETOOMANYREFS ? EAGAIN : code;
}

UniqueFd content_fd(const void* content, std::size_t size) {
  UniqueFd fd(::memfd_create("zazen", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fd;
  const char* bytes = static_cast<const char*>(content);
  for (std::size_t done = 0; done < size;) {
    ssize_t written = ::pwrite(fd.get(), bytes + done, size - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return UniqueFd();
    done += static_cast<std::size_t>(written);
  }
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return fd;
}

}  // namespace zazen
