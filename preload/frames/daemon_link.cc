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

bool may_answer_later(const Table& table) {
  CancellationOff no_cancellation;
  SignalsOff no_signals;  // a handler that leaves by a jump would leak a descriptor
  return heart_beats(table, monotonic_ms()) && !is_stopped(table.pid);
}

// Needs no descriptor. An open waits for a slow worker like a request (daemon_request.h). A
// worker that does not answer gets no requests for a while, as a daemon.
bool settle_through_worker(const Route& route, std::uint32_t kind) {
  const std::int64_t now_ms = monotonic_ms();
  if (!route.alive || now_ms < daemon_link.quiet_until_ms.load(std::memory_order_relaxed)) {
    return false;
  }
  ProgramNews& news = counters_of(*route.node).news;
  const FrameEntry entry = {route.dataset, route.seq, kind};
  const NewsWord* place = ask_by_news(news, entry);
  if (place == nullptr) return false;
  const Table& table = *route.node->table;
  const std::int64_t until_ms = now_ms + (kind == kNewsOpened ? kSuspendMs : kAnswerMs);
  std::int64_t then_ms;
  do {
    if (await_reader(news, entry, place, kAnswerMs)) return true;
    then_ms = monotonic_ms();
  } while (news.reader.load() != 0 && then_ms < until_ms && may_answer_later(table));
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
  if (settle_through_worker(route, kNewsDrop)) return;
  with_copy(route, [](const LocalCopy& copy) { return drop_copy(copy, 0); });
}

CopyBefore drop_before_change(const Route& route, CopyBefore before) {
  if (before.name == CopyBefore::kFree) return before;
  with_copy(route, [&](const LocalCopy& copy) {
    const long removed = remove_copy(copy);  // this also looks for it
    if (removed == 0) {
      before.name = CopyBefore::kRemoved;
      return true;
    }
    if (before.name == CopyBefore::kUnknown) {
      before.name = CopyBefore::name_by(removed == -ENOENT ? removed : copy.look());
    }
    if (before.name == CopyBefore::kTaken) invalidate_copy(route);
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
    is_removed = left == CopyLeft::kNamed && remove_copy(copy) == 0;
    return true;
  });
  if (left != CopyLeft::kNone && !is_removed) {
    invalidate_copy(route);  // so that the peers learn of it, too
    return 0;
  }
  return (is_removed ? std::uint32_t{kNewsCopyRemoved} : 0) | changed_for_peers(route);
}

std::uint32_t suspend_copy(const Route& route, std::uint32_t written) {
  std::uint32_t left = written;
  with_copy(route, [&](const LocalCopy& copy) {
    // The worker may hear of the open after the first write, and after a fill that somebody
    // waits for. For a push it must know the frame before.
    const bool may_hear_later = written == 0 && copy.dataset.fill != Fill::kWait;
    if (may_hear_later && route.alive && look_for_copy(copy, route.seq) == CopyLeft::kNone) {
      left = kNewsOpened;
    } else if ((settle_through_worker(route, kNewsOpened) && !copy.is_there()) ||
               drop_copy(copy, kOpenForWriting)) {
      left = 0;
    }
    return true;
  });
  return left;
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
    const bool is_open = (kinds & kNewsOpened) != 0;
    if ((is_change || is_open) && route.alive) {
      copy.ask({.type = MessageType::kInvalidate,
                .flags = is_open ? std::uint32_t{kOpenForWriting} : 0,
                .breaks_quiet = true});
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
