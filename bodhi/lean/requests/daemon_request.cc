#include "bodhi/lean/requests/daemon_request.h"

#include <alloca.h>
#include <stdio.h>

#include <cstring>

#include "bodhi/lean/system/fd_link.h"
#include "bodhi/lean/system/raw_call.h"
#include "bodhi/lean/system/signals_off.h"

namespace zazen {
namespace {

// As receive_message(), for at most kAnswerMs. For a request whose answer may be skipped, a
// signal ends the wait: -EINTR.
int receive_soon(bool must_hear, const SignalsOff& signals, int socket, char* reply,
                 std::size_t size) {
  constexpr int kLookMs = 10;
  for (int waited_ms = kLookMs;; waited_ms += kLookMs) {
    int received_fd = -1;
    int got = receive_message(socket, reply, size, &received_fd, kLookMs);
    if (received_fd >= 0) raw_call(SYS_close, received_fd);
    if (got != -ETIMEDOUT || waited_ms >= kAnswerMs) return got;
    if (!must_hear && signals.is_one_waiting()) return -EINTR;
  }
}

// As receive_message(). After the first kAnswerMs it goes on as long as the daemon's heart
// beats and the daemon is not stopped. For a change it waits also for a stopped daemon, because
// the daemon must learn of the change.
int receive_answer(const Table& table, const DaemonRequest& request, const SignalsOff& signals,
                   int socket, char* reply, std::size_t size) {
  bool must_hear = request.type == MessageType::kInvalidate;
  bool is_change = must_hear && (request.flags & kOpenForWriting) == 0;
  std::int64_t deadline_ms = monotonic_ms() + request.answer_ms;
  for (;;) {
    int got = receive_soon(must_hear, signals, socket, reply, size);
    if (got != -ETIMEDOUT) return got;
    std::int64_t now_ms = monotonic_ms();
    if (now_ms >= deadline_ms || !heart_beats(table, now_ms)) return got;
    if (!is_change && is_stopped(table.pid)) return got;
  }
}

int reply_status(int got, const char* reply, std::uint64_t request) {
  MessageHeader header;
  if (got < static_cast<int>(sizeof header)) return got < 0 ? got : -EPROTO;
  std::memcpy(&header, reply, sizeof header);
  bool ours = header.magic == kWireMagic && header.type == MessageType::kReply &&
              header.request == request;
  return ours ? header.status : -EPROTO;
}

}  // namespace

bool is_stopped(std::int32_t pid) {
  char path[32], text[128];  // "7 (zazend) T 1 ..."
  ::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  RawFd file(raw_open(path, O_RDONLY));
  if (!file.valid()) return false;
  long size = raw_call(SYS_read, file.get(), text, sizeof text - 1);
  text[size > 0 ? size : 0] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' &&
         (name_end[2] == 'T' || name_end[2] == 't');
}

int ask_daemon(DaemonLink& link, const Table& table, const DaemonRequest& request) {
  constexpr std::uint64_t kRequest = 1;
  if (!request.breaks_quiet &&
      monotonic_ms() < link.quiet_until_ms.load(std::memory_order_relaxed)) {
    return -EAGAIN;
  }
  const bool waits = request.answer_ms > 0;
  const std::size_t room = sizeof(MessageHeader) + sizeof(FrameBody) +
                           std::strlen(request.dataset) + std::strlen(request.name) + 1;
  char* packet = static_cast<char*>(alloca(room));
  const std::uint32_t flags = waits ? request.flags | kWaitForIt : request.flags;
  std::size_t size = encode_frame_message(request.type, kRequest, flags, request.dataset,
                                          request.name, packet, room);
  if (size == 0) return -EMSGSIZE;

  SignalsOff no_signals;
  const bool is_notice = !waits && request.breaks_quiet;
  // Not the program's own open file description: the daemon would share its locks and flags.
  RawFd passed(request.origin_fd < 0 ? -1
                                     : raw_open(FdLink(request.origin_fd).text(), O_RDONLY));
  if (request.origin_fd >= 0 && !passed.valid()) return -EBADF;
  RawFd socket(connect_daemon(link.runtime, is_notice ? 0 : waits ? kAnswerMs : kSendMs));
  int result = socket.get();
  if (socket.valid()) result = send_message(socket.get(), packet, size, passed.get(), kSendMs);
  if (result == 0 && waits) {
    alignas(MessageHeader) char reply[256];
    int got = receive_answer(table, request, no_signals, socket.get(), reply, sizeof reply);
    result = reply_status(got, reply, kRequest);
  }
  // The failure of a notice, which is sent in one try, says little about a busy daemon.
  if (result < 0 && result != -EINTR && !is_notice) {
    link.quiet_until_ms.store(monotonic_ms() + kQuietMs, std::memory_order_relaxed);
  }
  return result;
}

}  // namespace zazen
