// The shim's messages to its daemon about the frame of a route: fill, invalidate, suspend,
// written, sample. bodhi/daemon_request.h has the rules; errno is kept, and no cancellation
// comes in between.
#pragma once
#include "preload/cached_copy.h"
#include "preload/mpi_session.h"

namespace zazen {

extern DaemonLink daemon_link;

inline LocalCopy local_copy(const Route& route, const CopyPath& copy) {
  return {daemon_link,       *route.node->table, route.published(),
          route.place->name, route.place->trust, copy.text,
          route.now_ms,      route.alive,        job_began_ms.load(std::memory_order_relaxed)};
}

// Hands the origin's fd to the daemon. With `wait`, true says that the copy is there now.
bool send_fill(const Route& route, int origin_fd, bool wait);

// The frame changes: see drop_copy().
void invalidate_copy(const Route& route);

// A program has opened the frame for writing: its copy is not served until the last one has
// closed it (D25). True: the daemon knows, also for a push. Otherwise the copy is removed, as
// by a change.
bool suspend_copy(const Route& route);

// The frame was opened for writing, or changed: where the dataset says `push`, the daemon
// pushes it when it is closed. One try, without an answer: the message waits in the socket for
// a daemon that is busy, or stopped. A try that fails leaves nobody else's message unsent.
void tell_written(const Route& route);

// Asks the daemon to compare a sample of the dataset's copies with the origin (D10).
bool request_sample(const Route& route);

}  // namespace zazen
