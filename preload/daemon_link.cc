#include "preload/daemon_link.h"

#include <stdio.h>

#include <cstring>

#include "bodhi/wire.h"
#include "preload/cached_copy.h"
#include "preload/cancellation.h"
#include "preload/hook.h"
#include "preload/log.h"
#include "preload/raw.h"
#include "preload/settings.h"
#include "preload/signals_off.h"

namespace zazen {
namespace {

constexpr std::int64_t kQuietMs = 1000;

constinit std::atomic<std::int64_t> quiet_until_ms{0};

// The heart beats twice a second, whatever else the daemon does; if it is stopped, it does not.
bool heart_beats(const Table& table, std::int64_t now_ms) {
  return now_ms - table.heartbeat_ms.load(std::memory_order_relaxed) <= kMissedBeatsMs;
}

// By SIGSTOP or a debugger. False also where the process cannot be seen.
bool is_stopped(std::int32_t pid) {
  char path[32], text[128];  // "7 (zazend) T 1 ..."
  ::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = raw::openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  ssize_t size = raw::read(fd, text, sizeof text - 1);
  raw::close(fd);
  text[size > 0 ? size : 0] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' &&
         (name_end[2] == 'T' || name_end[2] == 't');
}

// As receive_message(), for at most kAnswerMs. Who need not hear the answer stops when a signal
// comes: -EINTR.
int receive_soon(bool must_hear, const SignalsOff& signals, int socket, char* reply,
                 std::size_t size, int* received_fd) {
  constexpr int kLookMs = 10;
  for (int waited_ms = kLookMs;; waited_ms += kLookMs) {
    int got = receive_message(socket, reply, size, received_fd, kLookMs);
    if (got != -ETIMEDOUT || waited_ms >= kAnswerMs) return got;
    if (!must_hear && signals.is_one_waiting()) return -EINTR;
  }
}

// As receive_message(). After the first kAnswerMs it goes on as long as the daemon's heart
// beats and, but for a change, which it has to hear of, it is not stopped.
int receive_answer(MessageType type, std::uint32_t flags, const Route& route,
                   const SignalsOff& signals, int socket, char* reply, std::size_t size,
                   int limit_ms) {
  bool must_hear = type == MessageType::kInvalidate;
  bool is_change = must_hear && (flags & kOpenForWriting) == 0;
  std::int64_t deadline_ms = monotonic_ms() + limit_ms;
  for (;;) {
    int received_fd = -1;
    int got = receive_soon(must_hear, signals, socket, reply, size, &received_fd);
    if (received_fd >= 0) raw::close(received_fd);
    if (got != -ETIMEDOUT) return got;
    std::int64_t now_ms = monotonic_ms();
    const Table& table = *route.node->table;
    if (now_ms >= deadline_ms || !heart_beats(table, now_ms)) return got;
    if (!is_change && is_stopped(table.pid)) return got;
  }
}

// 0, the reply's errno, or a negative errno of the transport.
enum class Quiet { kKept, kBroken };  // what to do within a second after a failure

int exchange(MessageType type, const Route& route, const char* name, int origin_fd,
             int answer_ms, std::uint32_t flags = 0, Quiet quiet = Quiet::kKept) {
  constexpr std::uint64_t kRequest = 1;
  std::int64_t now_ms = monotonic_ms();
  if (quiet == Quiet::kKept && now_ms < quiet_until_ms.load(std::memory_order_relaxed)) {
    return -EAGAIN;
  }
  const std::size_t room = sizeof(MessageHeader) + sizeof(FrameBody) +
                           std::strlen(route.published().path) + std::strlen(name) + 1;
  char* packet = static_cast<char*>(alloca(room));
  if (answer_ms > 0) flags |= kWaitForIt;
  std::size_t size =
      encode_frame_message(type, kRequest, flags, route.published().path, name, packet, room);
  if (size == 0) return -EMSGSIZE;

  CancellationOff no_cancellation;  // in poll or sendmsg it would leak the socket
  SignalsOff no_signals;            // and so would a handler that leaves by a jump
  const bool is_notice = answer_ms == 0 && quiet == Quiet::kBroken;
  int patience_ms = is_notice ? 0 : answer_ms > 0 ? kAnswerMs : kSendMs;
  // Not the program's own open file: a lock on it, or its flags, would live on in the daemon.
  RawFd passed(origin_fd < 0 ? -1
                             : raw::openat(AT_FDCWD, raw::FdLink(origin_fd).text(),
                                           O_RDONLY | O_CLOEXEC, 0));
  if (origin_fd >= 0 && !passed.valid()) return -EBADF;
  int socket = connect_daemon(settings.runtime, patience_ms);
  int result = socket;
  if (socket >= 0) result = send_message(socket, packet, size, passed.get(), kSendMs);
  if (result == 0 && answer_ms > 0) {
    alignas(MessageHeader) char reply[256];
    int got = receive_answer(type, flags, route, no_signals, socket, reply, sizeof reply,
                             answer_ms);
    MessageHeader header;
    if (got < static_cast<int>(sizeof header)) {
      result = got < 0 ? got : -EPROTO;
    } else {
      std::memcpy(&header, reply, sizeof header);
      bool ours = header.magic == kWireMagic && header.type == MessageType::kReply &&
                  header.request == kRequest;
      result = ours ? header.status : -EPROTO;
    }
  }
  if (socket >= 0) raw::close(socket);
  if (result < 0 && result != -EINTR) {
    // A notice has no patience: that it failed tells little about a daemon that is waited for.
    if (!is_notice) quiet_until_ms.store(monotonic_ms() + kQuietMs, std::memory_order_relaxed);
    log_line(LogLevel::kWarn, "the daemon does not answer: errno %d", -result);
  }
  return result;
}

bool frame_name_of(const Route& route, char* out, std::size_t capacity) {
  return route.place->name.format(route.seq, out, capacity) != 0;
}

// The copy is not served any more. True: by the daemon's doing.
bool tell_of_change(const Route& route, std::uint32_t flags) {
  if (route.node == nullptr) return false;
  ErrnoKeeper keep;
  char name[kMaxTemplate + 32];
  if (!frame_name_of(route, name, sizeof name)) return false;
  if (route.alive) {
    int limit_ms = (flags & kOpenForWriting) != 0 ? kSuspendMs : kAnswerMs;
    int told = exchange(MessageType::kInvalidate, route, name, -1, limit_ms, flags);
    if (told >= 0 && told != EAGAIN) return told == 0;  // EAGAIN: it has too much to do
    // Other nodes have to hear of it all the same, when the daemon comes to read it.
    if (told < 0 && route.node->table->has_peers != 0) {
      exchange(MessageType::kInvalidate, route, name, -1, 0, flags, Quiet::kBroken);
    }
  }
  CopyPath copy(route, alloca(CopyPath::room(route)));
  if (!copy || raw::unlinkat(AT_FDCWD, copy.text, 0) == 0) return false;
  // After a chroot() the whole cache is out of sight.
  const Table& table = *route.node->table;
  if (errno == ENOENT && raw::faccessat(AT_FDCWD, table.cache, F_OK, 0) == 0) return false;
  // The copy is root's: the daemon alone can drop it, and it must be told.
  if (route.alive && exchange(MessageType::kInvalidate, route, name, -1, kMissedBeatsMs, flags,
                              Quiet::kBroken) == 0) {
    return true;
  }
  route.place->distrusted.store(true);
  counters_of(*route.node).untold_changes[route.dataset].fetch_add(1);
  return false;
}

}  // namespace

bool send_fill(const Route& route, int origin_fd, bool wait) {
  ErrnoKeeper keep;
  char name[kMaxTemplate + 32];
  if (!frame_name_of(route, name, sizeof name)) return false;
  // A handler has run in between: the fill goes on, and is asked for again.
  const std::int64_t deadline_ms = monotonic_ms() + kFillMs;
  int result;
  do {
    result = exchange(MessageType::kFill, route, name, origin_fd, wait ? kFillMs : 0);
  } while (result == -EINTR && monotonic_ms() < deadline_ms);
  return result == 0;
}

void invalidate_copy(const Route& route, Reason reason) {
  tell_of_change(route, reason == Reason::kFoundStale ? std::uint32_t{kFoundStale} : 0);
}

bool suspend_copy(const Route& route) {
  return tell_of_change(route, kOpenForWriting);
}

void tell_written(const Route& route) {
  if (route.node == nullptr || route.published().push == 0) [[likely]]
    return;
  ErrnoKeeper keep;
  char name[kMaxTemplate + 32];
  if (route.published().removed != 0 || !frame_name_of(route, name, sizeof name)) return;
  exchange(MessageType::kWritten, route, name, -1, 0, 0, Quiet::kBroken);
}

void request_read_in(const Route& route) {
  char name[kMaxTemplate + 32];
  bool named = frame_name_of(route, name, sizeof name);
  if (!named || !heart_beats(*route.node->table, monotonic_ms())) return;
  exchange(MessageType::kReadIn, route, name, -1, kReadInMs);
}

bool request_sample(const Route& route) {
  ErrnoKeeper keep;
  return exchange(MessageType::kSample, route, "", -1, kAnswerMs) == 0;
}

}  // namespace zazen
