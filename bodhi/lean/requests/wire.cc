// Sends and receives by non-blocking calls with a poll in between, so a daemon that hangs
// delays its client by no more than the client's time limit.
#include "bodhi/lean/requests/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cstring>

#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {
namespace {

constexpr std::int64_t kConnectPauseNs = 2'000'000;

class Deadline {
 public:
  explicit Deadline(int timeout_ms)
      : end_ns_(now_ns() + (timeout_ms > 0 ? timeout_ms : 0) * std::int64_t{1'000'000}) {}

  std::int64_t left_ns() const {
    std::int64_t left = end_ns_ - now_ns();
    return left > 0 ? left : 0;
  }

 private:
  static std::int64_t now_ns() {
    struct timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }

  std::int64_t end_ns_;
};

// Waits for the events, or with fd -1 only for the time. False when the time is over.
bool wait_for(int fd, short events, std::int64_t wait_ns) {
  if (wait_ns <= 0) return false;
  struct pollfd entry = {fd, events, 0};
  struct timespec wait = {static_cast<time_t>(wait_ns / 1'000'000'000),
                          static_cast<long>(wait_ns % 1'000'000'000)};
  return raw_call(SYS_ppoll, &entry, 1, &wait, nullptr, 0) != 0;
}

// Replaces CMSG_NXTHDR, which may be a function, and one that only glibc has.
cmsghdr* part_after(const struct msghdr& message, cmsghdr* part) {
  char* next = reinterpret_cast<char*>(part) + CMSG_ALIGN(part->cmsg_len);
  const char* end = static_cast<const char*>(message.msg_control) + message.msg_controllen;
  bool fits = part->cmsg_len >= sizeof(cmsghdr) && next + sizeof(cmsghdr) <= end;
  return fits ? reinterpret_cast<cmsghdr*>(next) : nullptr;
}

// Keeps the first descriptor that came with a message and closes the others.
void take_passed_fds(struct msghdr* message, Arrival* out) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr;
       part = part_after(*message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      if (out->passed_fd < 0) {
        out->passed_fd = fd;
      } else {
        raw_call(SYS_close, fd);
        out->is_whole = false;
      }
    }
  }
}

}  // namespace

std::size_t encode_frame_message(MessageType type, std::uint64_t request, std::uint32_t flags,
                                 const char* dataset, const char* name, char* buffer,
                                 std::size_t capacity) {
  std::size_t dataset_length = std::strlen(dataset);
  std::size_t name_length = std::strlen(name);
  std::size_t fixed = sizeof(MessageHeader) + sizeof(FrameBody);
  std::size_t limit = capacity < kMaxMessage ? capacity : kMaxMessage;
  if (limit < fixed || dataset_length > limit - fixed ||
      name_length > limit - fixed - dataset_length) {
    return 0;
  }
  MessageHeader header = {};
  header.magic = kWireMagic;
  header.version = kWireVersion;
  header.type = type;
  header.length = static_cast<std::uint32_t>(sizeof(FrameBody) + dataset_length + name_length);
  header.flags = flags;
  header.request = request;
  FrameBody body = {static_cast<std::uint16_t>(dataset_length),
                    static_cast<std::uint16_t>(name_length)};
  std::memcpy(buffer, &header, sizeof header);
  std::memcpy(buffer + sizeof header, &body, sizeof body);
  std::memcpy(buffer + fixed, dataset, dataset_length);
  std::memcpy(buffer + fixed + dataset_length, name, name_length);
  return fixed + dataset_length + name_length;
}

std::size_t socket_address(int directory_fd, struct sockaddr_un* out) {
  char digits[12];
  std::size_t count = 0;
  unsigned number = static_cast<unsigned>(directory_fd);
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);

  std::memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  constexpr char kPrefix[] = "/proc/self/fd/";
  char* at = out->sun_path;
  std::memcpy(at, kPrefix, sizeof kPrefix - 1);
  at += sizeof kPrefix - 1;
  while (count > 0) *at++ = digits[--count];
  *at++ = '/';
  std::memcpy(at, kSocketFile, sizeof kSocketFile);
  return static_cast<std::size_t>(at - reinterpret_cast<char*>(out)) + sizeof kSocketFile;
}

int connect_daemon(const char* runtime, int timeout_ms) {
  RawFd directory(raw_open(runtime, O_PATH | O_DIRECTORY));
  if (!directory.valid()) return directory.get();
  RawFd socket(static_cast<int>(
      raw_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  if (!socket.valid()) return socket.get();
  struct sockaddr_un address;
  std::size_t size = socket_address(directory.get(), &address);
  Deadline deadline(timeout_ms);
  for (;;) {
    long result = raw_call(SYS_connect, socket.get(), &address, size);
    if (result == 0) return socket.release();
    if (result == -EINTR) continue;
    if (result != -EAGAIN) return static_cast<int>(result);
    // The backlog is full, and poll does not tell when it has room.
    std::int64_t left = deadline.left_ns();
    if (left == 0) return -ETIMEDOUT;
    wait_for(-1, 0, left < kConnectPauseNs ? left : kConnectPauseNs);
  }
}

int send_once(int socket, std::span<struct iovec> parts, std::span<const int> passed_fds) {
  if (passed_fds.size() > kMostPassed) return -EINVAL;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPassed * sizeof(int))] = {};
  struct msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (!passed_fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(passed_fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(passed_fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), passed_fds.data(), passed_fds.size_bytes());
  }
  for (;;) {
    long result = raw_call(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (result != -EINTR) return result < 0 ? static_cast<int>(result) : 0;
  }
}

Arrival receive_once(int socket, char* buffer, std::size_t capacity) {
  struct iovec part = {buffer, capacity};
  // The padding has room for a second descriptor; the kernel closes what does not fit.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  struct msghdr message;
  long result;
  do {
    message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    result = raw_call(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (result == -EINTR);
  Arrival arrival = {static_cast<int>(result), -1, true};
  if (result < 0) return arrival;
  arrival.is_whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  take_passed_fds(&message, &arrival);
  if ((message.msg_flags & MSG_TRUNC) != 0) {
    if (arrival.passed_fd >= 0) raw_call(SYS_close, arrival.passed_fd);
    return {-EMSGSIZE, -1, false};
  }
  return arrival;
}

int send_message(int socket, const char* packet, std::size_t size, int passed_fd,
                 int timeout_ms) {
  struct iovec part = {const_cast<char*>(packet), size};
  const std::span<const int> passed(&passed_fd, passed_fd >= 0 ? 1 : 0);
  Deadline deadline(timeout_ms);
  for (;;) {
    int result = send_once(socket, std::span(&part, 1), passed);
    if (result != -EAGAIN) return result;
    if (!wait_for(socket, POLLOUT, deadline.left_ns())) return -ETIMEDOUT;
  }
}

int receive_message(int socket, char* buffer, std::size_t capacity, int* passed_fd,
                    int timeout_ms) {
  Deadline deadline(timeout_ms);
  for (;;) {
    Arrival arrival = receive_once(socket, buffer, capacity);
    *passed_fd = arrival.passed_fd;
    if (arrival.size != -EAGAIN) return arrival.size;
    if (!wait_for(socket, POLLIN, deadline.left_ns())) return -ETIMEDOUT;
  }
}

}  // namespace zazen
