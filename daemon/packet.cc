#include "daemon/packet.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>

namespace zazen {

Received receive_packet(int socket, Packet* out) {
  alignas(MessageHeader) char buffer[kMaxMessage];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {buffer, sizeof buffer};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return errno == EAGAIN ? Received::kNothing : Received::kClosed;

  // Whatever came must be closed, even if the padding made room for more than one.
  int passed_count = 0;
  out->passed.reset();
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr;
       part_of = CMSG_NXTHDR(&message, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof(int), sizeof fd);
      out->passed.reset(fd);
      ++passed_count;
    }
  }
  if (size == 0) return Received::kClosed;
  bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (!whole || passed_count > 1 || !message_is_valid(buffer, static_cast<std::size_t>(size))) {
    return Received::kMalformed;
  }
  out->bytes.assign(buffer, static_cast<std::size_t>(size));
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
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  struct msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  UniqueFd own;
  if (answer.content) {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", answer.content->get());
    own.reset(::open(link, O_RDONLY | O_CLOEXEC));
    if (!own.valid()) return errno;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    int fd = own.get();
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 0;
    if (errno != EINTR) return errno == ENOBUFS || errno == ETOOMANYREFS ? EAGAIN : errno;
  }
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
