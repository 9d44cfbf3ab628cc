#include "preload/frames/daemon_link.h"

#include "bodhi/lean/system/signals_off.h"
#include "preload/calls/cancellation.h"
#include "preload/calls/hook.h"
#include "preload/process/log.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

void say_unanswered(int code) {
  ErrnoKeeper keep;
  CancellationOff no_cancellation;
  SignalsOff no_signals;  // a handler that leaves by a jump would leak the log's descriptor
  log_line(LogLevel::kWarn, "the daemon does not answer: errno %d", code);
}

int ask_as_guest(DaemonLink& link, const Table& table, const DaemonRequest& request) {
  ErrnoKeeper keep;
  CancellationOff no_cancellation;  // an asynchronous one would leak the socket
  int result = ask_daemon(link, table, request);
  if (result < 0 && result != -EINTR && result != -EAGAIN) say_unanswered(-result);
  return result;
}

// Calls act(LocalCopy) for the frame's copy; false if it has no place.
template <class Act>
bool with_copy(const Route& route, Act act) {
  CopyPath copy(route, alloca(CopyPath::room(route)));
  return copy && act(local_copy(route, copy));
}

// The daemon reads this counter within a second and then has each open of the dataset checked.
void note_untold(const Table& table, const TableDataset& dataset) {
  bool alive = false;
  const Node* node = current_node(&alive);
  if (node == nullptr) return;
  counters_of(*node).untold_changes[&dataset - table.datasets].fetch_add(1);
}

}  // namespace

constinit DaemonLink daemon_link{settings.runtime, ask_as_guest, note_untold};

namespace {

// Needs no descriptor. A worker that does not answer gets no requests for a while, as a daemon.
bool drop_through_worker(const Route& route) {
  const std::int64_t now_ms = monotonic_ms();
  if (!route.alive || now_ms < daemon_link.quiet_until_ms.load(std::memory_order_relaxed)) {
    return false;
  }
  if (drop_by_news(counters_of(*route.node).news, {route.dataset, route.seq, kNewsDrop},
                   kAnswerMs)) {
    return true;
  }
  const std::int64_t then_ms = monotonic_ms();
  if (then_ms - now_ms >= kAnswerMs) {
    daemon_link.quiet_until_ms.store(then_ms + kQuietMs, std::memory_order_relaxed);
    say_unanswered(ETIMEDOUT);
  }
  return false;
}

}  // namespace

bool send_fill(const Route& route, int origin_fd, bool wait) {
  if (!wait && route.alive &&
      announce_miss(counters_of(*route.node).news, route.dataset, route.seq, origin_fd)) {
    return true;
  }
  return with_copy(route,
                   [&](const LocalCopy& copy) { return request_fill(copy, origin_fd, wait); });
}

void invalidate_copy(const Route& route) {
  if (drop_through_worker(route)) return;
  with_copy(route, [](const LocalCopy& copy) { return drop_copy(copy, 0); });
}

CopyBefore drop_before_change(const Route& route, CopyBefore before) {
  if (before.name == CopyBefore::kFree) return before;
  with_copy(route, [&](const LocalCopy& copy) {
    if (before.name == CopyBefore::kUnknown) before.name = CopyBefore::name_by(copy.look());
    if (before.name != CopyBefore::kTaken) return false;
    const bool is_removed = remove_copy(copy);
    if (is_removed) before.name = CopyBefore::kRemoved;
    if (!is_removed) invalidate_copy(route);
    return true;
  });
  return before;
}

std::uint32_t changed_for_peers(const Route& route) {
  return route.alive && route.node->table->has_peers != 0 ? std::uint32_t{kNewsChanged} : 0;
}

std::uint32_t drop_after_change(const Route& route, const CopyBefore& before) {
  if (!route.alive) return news_of(drop_before_change(route, before_change(route)));
  CopyLeft left = CopyLeft::kNone;
  bool is_removed = false;
  with_copy(route, [&](const LocalCopy& copy) {
    left = look_again_for_copy(copy, route.seq, before);
    is_removed = left == CopyLeft::kNamed && remove_copy(copy);
    return true;
  });
  if (left != CopyLeft::kNone && !is_removed) {
    invalidate_copy(route);  // so that the peers learn of it, too
    return 0;
  }
  return (is_removed ? std::uint32_t{kNewsCopyRemoved} : 0) | changed_for_peers(route);
}

bool suspend_copy(const Route& route) {
  return with_copy(route,
                   [](const LocalCopy& copy) { return drop_copy(copy, kOpenForWriting); });
}

void tell_news(const Route& route, std::uint32_t kinds) {
  if (kinds == 0) [[likely]]
    return;
  if (route.alive &&
      add_news(counters_of(*route.node).news, {route.dataset, route.seq, kinds})) {
    return;
  }
  with_copy(route, [&](const LocalCopy& copy) {
    const bool is_change = (kinds & (kNewsChanged | kNewsCopyRemoved)) != 0;
    if (is_change && route.alive) {
      copy.ask({.type = MessageType::kInvalidate, .breaks_quiet = true});
    }
    // A busy or stopped daemon finds the message in its socket later.
    if ((kinds & kNewsWritten) != 0) {
      copy.ask({.type = MessageType::kWritten, .breaks_quiet = true});
    }
    return true;
  });
}

bool request_sample(const Route& route) {
  return with_copy(route, [](const LocalCopy& copy) { return request_sample(copy); });
}

}  // namespace zazen
