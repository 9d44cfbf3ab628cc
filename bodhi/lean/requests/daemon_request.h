// A program's request to its node's daemon: one at a time, on a socket of its own, which is
// closed before the call returns. The shim and libbodhi's reader ask by these rules.
//
// Everything is bounded. A daemon that does not answer costs a program at most kAnswerMs, and
// is then left alone for a second. An open that waits for its copy, for its turn at a spinning
// disk, or for a copy to be suspended, goes on waiting while the daemon's heart beats and the
// kernel does not say that it is stopped. By raw system calls; errno is kept. Lean.
#pragma once
#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/requests/wire.h"

namespace zazen {

inline constexpr std::int64_t kQuietMs = 1000;
inline constexpr int kSendMs = 5;
inline constexpr int kAnswerMs = 250;
inline constexpr int kFillMs = 60'000;    // for fill = "wait"
inline constexpr int kSuspendMs = 2'000;  // of a busy daemon: without an answer the copy goes

// The heart beats twice a second, whatever else the daemon does; if it is stopped, it does not.
inline bool heart_beats(const Table& table, std::int64_t now_ms) {
  return now_ms - table.heartbeat_ms.load(std::memory_order_relaxed) <= kMissedBeatsMs;
}

struct DaemonRequest {
  MessageType type;
  std::uint32_t flags = 0;
  int answer_ms = 0;          // for so long the answer is waited for; 0: nobody waits for one
  int origin_fd = -1;         // its file goes along, by a descriptor of its own
  bool breaks_quiet = false;  // is made also within the second after a failure
  const char* dataset = nullptr;
  const char* name = "";  // of the frame; "": the request is about the dataset
};

// How one process reaches the daemon of its node.
struct DaemonLink {
  const char* runtime;
  int (*ask)(DaemonLink&, const Table&, const DaemonRequest&);  // ask_daemon(), or around it
  // Other processes may go on reading a copy of the dataset. May be null.
  void (*note_untold)(const Table&, const TableDataset&) = nullptr;
  std::atomic<std::int64_t> quiet_until_ms{0};
};

// 0, the reply's errno, or a negative errno of the transport: -EAGAIN in the quiet second,
// -EINTR if a signal came before the answer to a request that may be made again. No signal is
// taken meanwhile: a handler that leaves by a jump would leak the socket.
int ask_daemon(DaemonLink& link, const Table& table, const DaemonRequest& request);

}  // namespace zazen
