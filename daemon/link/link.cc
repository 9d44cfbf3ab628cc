#include "daemon/link/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace zazen {
namespace {

constexpr std::uint32_t kLinkMagic = 0x314b4e4c;  // "LNK1"
constexpr int kBufferBytes = 1 << 20;
constexpr std::size_t kReadBytes = 64 << 10;

struct LinkHeader {
  std::uint32_t magic;
  std::uint32_t length;  // of the body
  LinkType type;
  std::uint16_t is_reply;
  std::int32_t status;
  std::uint64_t request;
};
static_assert(sizeof(LinkHeader) == kLinkHeaderBytes);

LinkHeader header_of(const LinkPacket& packet) {
  return {kLinkMagic,    static_cast<std::uint32_t>(packet.body.size()),
          packet.type,   static_cast<std::uint16_t>(packet.is_reply ? 1 : 0),
          packet.status, packet.request};
}

bool is_valid(const LinkHeader& header) {
  return header.magic == kLinkMagic && header.length <= kLongestLinkBody &&
         header.is_reply <= 1 && (header.is_reply == 0 || header.request != 0);
}

void read_header(const LinkHeader& header, LinkPacket* out) {
  out->type = header.type;
  out->is_reply = header.is_reply == 1;
  out->request = header.request;
  out->status = header.status;
}

}  // namespace

Result<LinkEnds> make_link() {
  int sockets[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return last_error("socketpair");
  }
  LinkEnds ends;
  ends.send.reset(sockets[0]);
  ends.worker_receive.reset(sockets[1]);
  if (::pipe2(pipe, O_CLOEXEC) != 0) return last_error("pipe");
  ends.receive.reset(pipe[0]);
  ends.worker_send.reset(pipe[1]);
  ::shutdown(ends.send.get(), SHUT_RD);
  if (::setsockopt(ends.send.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kBufferBytes,
                   sizeof kBufferBytes) != 0) {
    ::setsockopt(ends.send.get(), SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
  }
  ::fcntl(ends.receive.get(), F_SETPIPE_SZ, kBufferBytes);
  ::fcntl(ends.receive.get(), F_SETFL, O_NONBLOCK);
  return ends;
}

int send_to_worker(int socket, const LinkPacket& packet) {
  if (packet.body.size() > kLongestLinkBody) return EMSGSIZE;
  LinkHeader header = header_of(packet);
  struct iovec parts[2] = {{&header, sizeof header},
                           {const_cast<char*>(packet.body.data()), packet.body.size()}};
  int passed[kMostPassed];
  if (packet.files.size() > kMostPassed) return EMSGSIZE;
  std::ranges::transform(packet.files, passed, &UniqueFd::get);
  int code = -send_once(socket, parts, {passed, packet.files.size()});
  return code == ENOBUFS || code == ENOMEM || code == ETOOMANYREFS ? EAGAIN : code;
}

bool receive_from_zazend(int socket, LinkPacket* out) {
  LinkHeader header = {};
  char body[kLongestLinkBody];  // not cleared: most messages are short
  struct iovec parts[2] = {{&header, sizeof header}, {body, sizeof body}};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPassed * sizeof(int))];
  struct msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < static_cast<ssize_t>(sizeof header) || !is_valid(header)) return false;
  out->body.assign(body, static_cast<std::size_t>(size) - sizeof header);
  read_header(header, out);
  out->files.clear();
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr;
       one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= one->cmsg_len; at += sizeof(int)) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(one) + at, sizeof fd);
      out->files.emplace_back(fd);
    }
  }
  return true;
}

LinkWriter::LinkWriter(int pipe) : pipe_(pipe) {
  ::fcntl(pipe, F_SETFL, O_WRONLY | O_NONBLOCK);
}

bool LinkWriter::send(const LinkPacket& packet, Full full) {
  if (packet.body.size() > kLongestLinkBody) return false;
  const LinkHeader header = header_of(packet);
  std::unique_lock lock(mutex_);
  kept_.reserve(kept_.size() + sizeof header + packet.body.size());  // all of it, or nothing
  kept_.append(reinterpret_cast<const char*>(&header), sizeof header);
  kept_ += packet.body;
  taken_ += sizeof header + packet.body.size();
  const std::uint64_t end = taken_;
  for (;;) {
    write_kept();
    if (is_gone_ || written_ >= end || full == Full::kKeep) return !is_gone_;
    lock.unlock();
    struct pollfd room = {pipe_, POLLOUT, 0};
    ::poll(&room, 1, -1);
    lock.lock();
  }
}

void LinkWriter::send_kept(int socket) {
  std::unique_lock lock(mutex_);
  struct pollfd both[2] = {{socket, POLLIN, 0}, {pipe_, POLLOUT, 0}};
  while (begin_ < kept_.size() && both[0].revents == 0) {
    lock.unlock();
    ::poll(both, 2, -1);
    lock.lock();
    write_kept();
  }
}

void LinkWriter::write_kept() {
  while (begin_ < kept_.size() && !is_gone_) {
    const ssize_t size = ::write(pipe_, kept_.data() + begin_, kept_.size() - begin_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      kept_.erase(0, begin_);
      begin_ = 0;
      return;
    }
    is_gone_ = size < 0;
    if (is_gone_) break;
    begin_ += static_cast<std::size_t>(size);
    written_ += static_cast<std::uint64_t>(size);
  }
  kept_.clear();
  begin_ = 0;
}

bool LinkReader::has_packet() const {
  LinkHeader header;
  const std::size_t there = end_ - begin_;
  if (there < sizeof header) return false;
  std::memcpy(&header, buffer_.data() + begin_, sizeof header);
  return !is_valid(header) || there >= sizeof header + header.length;
}

LinkReader::Got LinkReader::next(int pipe, LinkPacket* out) {
  for (;;) {
    LinkHeader header;
    const std::size_t there = end_ - begin_;
    if (there >= sizeof header) {
      std::memcpy(&header, buffer_.data() + begin_, sizeof header);
      if (!is_valid(header)) return Got::kMalformed;
      if (there >= sizeof header + header.length) {
        read_header(header, out);
        out->body.assign(buffer_, begin_ + sizeof header, header.length);
        begin_ += sizeof header + header.length;
        return Got::kPacket;
      }
    }
    std::memmove(buffer_.data(), buffer_.data() + std::exchange(begin_, 0), there);
    end_ = there;
    buffer_.resize(std::max(buffer_.size(), end_ + kReadBytes));
    ssize_t size = ::read(pipe, buffer_.data() + end_, kReadBytes);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno == EAGAIN ? Got::kNothing : Got::kClosed;
    if (size == 0) return Got::kClosed;
    end_ += static_cast<std::size_t>(size);
  }
}

}  // namespace zazen
