// A program's request to its node's daemon. Each request uses its own socket, which is closed
// before the call returns. The shim and libbodhi's reader use these rules.
//
// Every wait is bounded. A daemon that does not answer costs a program at most kAnswerMs, and
// gets no other request for a second. An open may wait for its copy, for its turn at a spinning
// disk, or for a copy to be suspended. Such a wait goes on while the daemon's heart beats and
// the kernel does not report it as stopped. By raw system calls; errno is kept. Lean.
#pragma once
#include "bodhi/lean/frames/table.h"
#include "bodhi/lean/requests/wire.h"

namespace zazen {

inline constexpr std::int64_t kQuietMs = 1000;
inline constexpr int kSendMs = 5;
inline constexpr int kAnswerMs = 250;
inline constexpr int kFillMs = 60'000;    // for fill = "wait"
inline constexpr int kSuspendMs = 2'000;  // for a busy daemon; then the copy is dropped

// The daemon's heart beats twice a second under any load; not while the daemon is stopped.
inline bool heart_beats(const Table& table, std::int64_t now_ms) {
  return now_ms - table.heartbeat_ms.load(std::memory_order_relaxed) <= kMissedBeatsMs;
}

struct DaemonRequest {
  MessageType type;
  std::uint32_t flags = 0;
  int answer_ms = 0;          // how long the caller waits for the answer; 0: it does not wait
  int origin_fd = -1;         // its file is sent along, with a new open file description
  bool breaks_quiet = false;  // is sent also within the second after a failure
  const char* dataset = nullptr;
  const char* name = "";  // of the frame; "": the request is about the dataset
};

// How one process reaches the daemon of its node.
struct DaemonLink {
  const char* runtime;
  int (*ask)(DaemonLink&, const Table&, const DaemonRequest&);  // ask_daemon() or a wrapper
  // Reports that other processes may go on reading a copy of the dataset. May be null.
  void (*note_untold)(const Table&, const TableDataset&) = nullptr;
  std::atomic<std::int64_t> quiet_until_ms{0};
};

// Stopped by SIGSTOP or a debugger. False also if the process is not visible.
bool is_stopped(std::int32_t pid);

// 0, the reply's errno, or a negative errno of the transport. -EAGAIN: within the second after
// a failure. -EINTR: a signal came before the answer to a request that can be repeated. The
// call blocks signals: a handler that leaves by a jump would leak the socket.
int ask_daemon(DaemonLink& link, const Table& table, const DaemonRequest& request);

}  // namespace zazen
