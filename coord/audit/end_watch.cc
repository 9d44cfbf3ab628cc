// The place is text: the port, the token, the host, and the host's addresses. A process on the
// same host connects by the loopback. Others try the addresses that are not also their own: a
// container bridge has the same address on every host.
#include "coord/audit/end_watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTokenBytes = 16;
constexpr time_t kTokenSeconds = 1;  // a connection that sends none delays the others
constexpr time_t kAnswerSeconds = 8;
constexpr int kPrivateFd = 512;  // the program's own descriptors keep their numbers
constexpr char kWelcome = '+';

int milliseconds_until(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left + 1, 0, 1'000'000));
}
Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string random_token() {
  unsigned char bytes[kTokenBytes];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return "";
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

// This boot of this machine and its network namespace: containers differ in it.
std::string own_host() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char network[64] = {};
  if (::readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = '?';
  return boot + network;
}

std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
                sizeof text);
  if (address->sa_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&six)) ::inet_ntop(AF_INET6, &six, text, sizeof text);
  }
  return text;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* interfaces = nullptr;
  if (::getifaddrs(&interfaces) != 0) return addresses;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(interfaces, ::freeifaddrs);
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0 ||
        (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    if (std::string text = text_of(one->ifa_addr); !text.empty()) addresses.push_back(text);
  }
  return addresses;
}

// One socket for both families, if the kernel has both.
UniqueFd listening_socket(in_port_t* port) {
  for (const int family : {AF_INET6, AF_INET}) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in6 address{};
    address.sin6_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET6 ? sizeof address : sizeof(sockaddr_in);
    const int both = 0;
    if (family == AF_INET6)
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
    if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      continue;
    *port = ntohs(address.sin6_port);  // in the same place in both families
    return fd;
  }
  return UniqueFd();
}

void limit_waiting(int fd, time_t seconds) {
  const timeval limit{seconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // of connect, too
}

// With a time limit the kernel does not restart calls that a signal interrupts. After an
// interrupted connect, another connect can wait for the same connection.
template <class Call>
ssize_t despite_signals(time_t seconds, Call call) {
  const Clock::time_point deadline = after(static_cast<double>(seconds));
  ssize_t result = call();
  while (result < 0 && errno == EINTR && Clock::now() < deadline) result = call();
  return result;
}

UniqueFd connected_to(const std::string& address, in_port_t port) {
  sockaddr_in four{AF_INET, htons(port), {}, {}};
  sockaddr_in6 six{AF_INET6, htons(port), 0, {}, 0};
  const bool is_four = ::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1;
  if (!is_four && ::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) != 1)
    return UniqueFd();
  UniqueFd fd(::socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  limit_waiting(fd.get(), kAnswerSeconds);
  const auto* where = is_four ? reinterpret_cast<const sockaddr*>(&four)
                              : reinterpret_cast<const sockaddr*>(&six);
  const socklen_t size = is_four ? sizeof four : sizeof six;
  if (despite_signals(kAnswerSeconds, [&] { return ::connect(fd.get(), where, size); }) != 0)
    fd.reset();
  return fd;
}

ino_t inode_of(int fd) {
  struct stat st;
  return ::fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

UniqueFd moved_up(UniqueFd fd) {
  UniqueFd high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kPrivateFd));
  return high.valid() ? std::move(high) : std::move(fd);
}

int held = -1;  // the connection of this process
ino_t held_inode = 0;

void let_go_in_child() {
  if (inode_of(held) == held_inode) ::close(held);
}

}  // namespace

std::unique_ptr<EndWatch> EndWatch::open() {
  std::unique_ptr<EndWatch> watch(new EndWatch);
  in_port_t port = 0;
  watch->listener_ = listening_socket(&port);
  watch->token_ = random_token();
  if (!watch->listener_.valid() || watch->token_.empty()) return nullptr;
  watch->place_ = std::to_string(port) + ' ' + watch->token_ + ' ' + own_host();
  for (const std::string& address : own_addresses()) watch->place_ += ' ' + address;
  return watch;
}

int EndWatch::admit(int count, double seconds) {
  const auto most = static_cast<std::size_t>(count);
  connections_.reserve(most);
  inodes_.reserve(most);
  const Clock::time_point deadline = after(seconds);
  pollfd waiting{listener_.get(), POLLIN, 0};
  while (connections_.size() < most) {
    const int left = milliseconds_until(deadline);
    if (left == 0 || (::poll(&waiting, 1, left) < 0 && errno != EINTR)) break;
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd.valid()) continue;
    limit_waiting(fd.get(), kTokenSeconds);
    char token[2 * kTokenBytes];
    if (despite_signals(kTokenSeconds,
                        [&] { return ::recv(fd.get(), token, sizeof token, MSG_WAITALL); }) !=
            sizeof token ||
        std::memcmp(token, token_.data(), sizeof token) != 0 ||
        ::send(fd.get(), &kWelcome, 1, MSG_NOSIGNAL) != 1)
      continue;
    fd = moved_up(std::move(fd));
    inodes_.push_back(inode_of(fd.get()));
    connections_.push_back({fd.release(), POLLIN, 0});
  }
  listener_.reset();
  return static_cast<int>(connections_.size());
}

void EndWatch::wait_for_ends(double seconds) noexcept {
  const Clock::time_point deadline = after(seconds);
  for (;;) {
    bool any = false;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      int& fd = connections_[i].fd;  // poll() ignores negative ones
      if (fd >= 0 && inode_of(fd) != inodes_[i]) fd = -1;
      if (fd < 0) continue;
      char byte;
      const ssize_t n = ::recv(fd, &byte, 1, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) fd = -1;
      any = any || fd >= 0;
    }
    const int left = milliseconds_until(deadline);
    if (!any || left == 0) return;
    ::poll(connections_.data(), connections_.size(), std::min(left, 1000));
  }
}

bool hold_connection(const std::string& place) {
  std::istringstream words(place);
  in_port_t port = 0;
  std::string token, host;
  if (!(words >> port >> token >> host) || token.size() != 2 * kTokenBytes) return false;
  std::vector<std::string> addresses;
  if (host == own_host()) addresses.emplace_back("127.0.0.1");
  const std::vector<std::string> own = own_addresses();
  for (std::string address; words >> address;)
    if (std::ranges::count(own, address) == 0) addresses.push_back(address);
  for (const std::string& address : addresses) {
    UniqueFd fd = connected_to(address, port);
    char answer = 0;
    if (!fd.valid() ||
        ::send(fd.get(), token.data(), token.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(token.size()) ||
        despite_signals(kAnswerSeconds, [&] { return ::recv(fd.get(), &answer, 1, 0); }) != 1 ||
        answer != kWelcome)
      continue;
    if (held < 0) ::pthread_atfork(nullptr, nullptr, let_go_in_child);
    held = moved_up(std::move(fd)).release();
    held_inode = inode_of(held);
    return true;
  }
  return false;
}

}  // namespace zazen
