#include "preload/daemon_link.h"

#include "preload/cancellation.h"
#include "preload/hook.h"
#include "preload/log.h"
#include "preload/settings.h"

namespace zazen {
namespace {

int ask_as_guest(DaemonLink& link, const Table& table, const DaemonRequest& request) {
  ErrnoKeeper keep;
  CancellationOff no_cancellation;  // an asynchronous one would leak the socket
  int result = ask_daemon(link, table, request);
  if (result < 0 && result != -EINTR && result != -EAGAIN) {
    log_line(LogLevel::kWarn, "the daemon does not answer: errno %d", -result);
  }
  return result;
}

// Calls act(LocalCopy) for the frame's copy; false if it has no place.
template <class Act>
bool with_copy(const Route& route, Act act) {
  CopyPath copy(route, alloca(CopyPath::room(route)));
  return copy && act(local_copy(route, copy));
}

// True: the daemon did it.
bool drop_changed_copy(const Route& route, std::uint32_t flags) {
  return with_copy(route, [&](const LocalCopy& copy) {
    const Drop drop = drop_copy(copy, flags);
    if (drop == Drop::kFailed) {
      counters_of(*route.node).untold_changes[route.dataset].fetch_add(1);
    }
    return drop == Drop::kByDaemon;
  });
}

}  // namespace

constinit DaemonLink daemon_link{settings.runtime, ask_as_guest};

bool send_fill(const Route& route, int origin_fd, bool wait) {
  return with_copy(route,
                   [&](const LocalCopy& copy) { return request_fill(copy, origin_fd, wait); });
}

void invalidate_copy(const Route& route) {
  drop_changed_copy(route, 0);
}

bool suspend_copy(const Route& route) {
  return drop_changed_copy(route, kOpenForWriting);
}

void tell_written(const Route& route) {
  if (route.node == nullptr || route.published().push == 0) [[likely]]
    return;
  if (route.published().removed != 0) return;
  with_copy(route, [](const LocalCopy& copy) {
    return copy.ask({.type = MessageType::kWritten, .breaks_quiet = true}) == 0;
  });
}

bool request_sample(const Route& route) {
  return with_copy(route, [](const LocalCopy& copy) { return request_sample(copy); });
}

}  // namespace zazen
