// Sending and receiving are non-blocking calls and a poll in between, so that a daemon that
// hangs costs its client no more than the time it was willing to give.
#include "bodhi/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cstring>

#include "bodhi/raw_call.h"
#include "bodhi/table.h"

namespace zazen {
namespace {

constexpr std::int64_t kConnectPauseNs = 2'000'000;
constexpr std::size_t kMaxPassedFds = 8;  // the kernel closes what does not fit

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

// Waits for the events, or with fd -1 merely for the time. False if the time is over.
bool wait_for(int fd, short events, std::int64_t wait_ns) {
  if (wait_ns <= 0) return false;
  struct pollfd entry = {fd, events, 0};
  struct timespec wait = {static_cast<time_t>(wait_ns / 1'000'000'000),
                          static_cast<long>(wait_ns % 1'000'000'000)};
  return raw_call(SYS_ppoll, &entry, 1, &wait, nullptr, 0) != 0;
}

MessageHeader header_of(const char* packet) {
  MessageHeader header;
  std::memcpy(&header, packet, sizeof header);
  return header;
}

bool has_nul(const char* text, std::size_t length) {
  return length > 0 && std::memchr(text, '\0', length) != nullptr;
}

bool dataset_text_is_valid(const char* text, std::size_t length) {
  return length < kMaxPath && text[0] == '/' && !has_nul(text, length);
}

bool frame_body_is_valid(MessageType type, const char* body, std::size_t length) {
  FrameBody sizes;
  if (length < sizeof sizes) return false;
  std::memcpy(&sizes, body, sizeof sizes);
  if (length != sizeof sizes + sizes.dataset_length + sizes.name_length) return false;
  const char* dataset = body + sizeof sizes;
  bool names_a_frame = type == MessageType::kFill || type == MessageType::kPush ||
                       type == MessageType::kPushContent || type == MessageType::kInvalidate ||
                       type == MessageType::kReadIn || type == MessageType::kWritten ||
                       type == MessageType::kHistory;
  if (names_a_frame != (sizes.name_length > 0)) return false;
  if (has_nul(dataset + sizes.dataset_length, sizes.name_length)) return false;
  if (sizes.dataset_length == 0) return type == MessageType::kList;
  return dataset_text_is_valid(dataset, sizes.dataset_length);
}

bool evict_body_is_valid(MessageType type, const char* body, std::size_t length) {
  EvictBody evict;
  if (length < sizeof evict) return false;
  std::memcpy(&evict, body, sizeof evict);
  if (evict.dataset_length == 0 || evict.dataset_length != length - sizeof evict) return false;
  std::uint32_t flags = kEvictNatives | kEvictAliens | kEvictDryRun;
  if (evict.what & ~(type == MessageType::kEvict ? flags : 0)) return false;
  return dataset_text_is_valid(body + sizeof evict, evict.dataset_length);
}

bool verify_body_is_valid(const char* body, std::size_t length) {
  VerifyBody verify;
  if (length < sizeof verify) return false;
  std::memcpy(&verify, body, sizeof verify);
  if (verify.dataset_length == 0 || verify.dataset_length != length - sizeof verify) {
    return false;
  }
  return dataset_text_is_valid(body + sizeof verify, verify.dataset_length);
}

// CMSG_NXTHDR may be a function, and one that only glibc has.
cmsghdr* part_after(const struct msghdr& message, cmsghdr* part) {
  char* next = reinterpret_cast<char*>(part) + CMSG_ALIGN(part->cmsg_len);
  const char* end = static_cast<const char*>(message.msg_control) + message.msg_controllen;
  bool fits = part->cmsg_len >= sizeof(cmsghdr) && next + sizeof(cmsghdr) <= end;
  return fits ? reinterpret_cast<cmsghdr*>(next) : nullptr;
}

// Keeps the first descriptor that came with a message and closes the others.
int take_passed_fd(struct msghdr* message) {
  int kept = -1;
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr;
       part = part_after(*message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      if (kept < 0) {
        kept = fd;
      } else {
        raw_call(SYS_close, fd);
      }
    }
  }
  return kept;
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

bool message_is_valid(const char* packet, std::size_t size) {
  if (size < sizeof(MessageHeader) || size > kMaxMessage) return false;
  MessageHeader header = header_of(packet);
  if (header.magic != kWireMagic || header.version != kWireVersion) return false;
  if (header.length != size - sizeof header) return false;
  const char* body = packet + sizeof header;
  switch (header.type) {
    case MessageType::kFill:
    case MessageType::kPush:
    case MessageType::kPushContent:
    case MessageType::kInvalidate:
    case MessageType::kSample:
    case MessageType::kList:
    case MessageType::kKeepListing:
    case MessageType::kReadIn:
    case MessageType::kWritten:
    case MessageType::kHistory:
      return frame_body_is_valid(header.type, body, header.length);
    case MessageType::kEvict:
    case MessageType::kPin:
    case MessageType::kUnpin:
      return evict_body_is_valid(header.type, body, header.length);
    case MessageType::kVerify:
      return verify_body_is_valid(body, header.length);
    case MessageType::kStatus:
      return header.length == 0;
    case MessageType::kPeerNotice:  // its receiver decodes it
      return header.length > 0 && header.length <= kLongestNotice;
    case MessageType::kReply:
      return true;
  }
  return false;
}

FrameNames frame_names(const char* packet) {
  FrameBody sizes;
  const char* body = packet + sizeof(MessageHeader);
  std::memcpy(&sizes, body, sizeof sizes);
  const char* dataset = body + sizeof sizes;
  return {dataset, sizes.dataset_length, dataset + sizes.dataset_length, sizes.name_length};
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
    // The backlog is full; no poll tells when it is not.
    std::int64_t left = deadline.left_ns();
    if (left == 0) return -ETIMEDOUT;
    wait_for(-1, 0, left < kConnectPauseNs ? left : kConnectPauseNs);
  }
}

int send_message(int socket, const char* packet, std::size_t size, int passed_fd,
                 int timeout_ms) {
  struct iovec part = {const_cast<char*>(packet), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &passed_fd, sizeof passed_fd);
  }
  Deadline deadline(timeout_ms);
  for (;;) {
    long result = raw_call(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (result >= 0) return 0;
    if (result == -EINTR) continue;
    if (result != -EAGAIN) return static_cast<int>(result);
    if (!wait_for(socket, POLLOUT, deadline.left_ns())) return -ETIMEDOUT;
  }
}

int receive_message(int socket, char* buffer, std::size_t capacity, int* passed_fd,
                    int timeout_ms) {
  *passed_fd = -1;
  struct iovec part = {buffer, capacity};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassedFds * sizeof(int))];
  Deadline deadline(timeout_ms);
  for (;;) {
    struct msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    long result = raw_call(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (result == -EINTR) continue;
    if (result == -EAGAIN) {
      if (!wait_for(socket, POLLIN, deadline.left_ns())) return -ETIMEDOUT;
      continue;
    }
    if (result < 0) return static_cast<int>(result);
    int fd = take_passed_fd(&message);
    if (message.msg_flags & MSG_TRUNC) {
      if (fd >= 0) raw_call(SYS_close, fd);
      return -EMSGSIZE;
    }
    *passed_fd = fd;
    return static_cast<int>(result);
  }
}

}  // namespace zazen
