#include "daemon/process/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bodhi/common/unique_fd.h"

namespace zazen {
namespace {

void send(const char* state, int flags) {
  const char* path = ::secure_getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract name space
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return;
  ::sendto(socket.get(), state, std::strlen(state), MSG_NOSIGNAL | flags,
           reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

}  // namespace

void notify_service_manager(const char* state) {
  send(state, 0);
}

void notify_serving() {
  static const bool is_watched = ::secure_getenv("WATCHDOG_USEC") != nullptr;
  if (is_watched) send("WATCHDOG=1", MSG_DONTWAIT);
}

void notify_reloading() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  long long microseconds = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  std::string state = "RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds);
  notify_service_manager(state.c_str());
}

}  // namespace zazen
