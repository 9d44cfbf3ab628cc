#include "preload/daemon_link.h"

#include "bodhi/signals_off.h"
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
    SignalsOff no_signals;  // a handler that leaves by a jump would leak the log's descriptor
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

// The daemon reads of it in the counters within a second, and has each open of the dataset
// checked.
void note_untold(const Table& table, const TableDataset& dataset) {
  bool alive = false;
  const Node* node = current_node(&alive);
  if (node == nullptr) return;
  counters_of(*node).untold_changes[&dataset - table.datasets].fetch_add(1);
}

}  // namespace

constinit DaemonLink daemon_link{settings.runtime, ask_as_guest, note_untold};

bool send_fill(const Route& route, int origin_fd, bool wait) {
  return with_copy(route,
                   [&](const LocalCopy& copy) { return request_fill(copy, origin_fd, wait); });
}

void invalidate_copy(const Route& route) {
  with_copy(route, [](const LocalCopy& copy) { return drop_copy(copy, 0); });
}

bool suspend_copy(const Route& route) {
  return with_copy(route,
                   [](const LocalCopy& copy) { return drop_copy(copy, kOpenForWriting); });
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
