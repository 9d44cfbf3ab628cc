// What the shim says to its daemon: fill, invalidate, suspend, written, sample,
// read in. Never on the
// way of a hit, but for the last.
//
// Each call opens a socket, sends one message, and closes the socket before it returns: the
// shim keeps no descriptor. Everything is bounded; a daemon that does not answer costs a
// program at most kAnswerMs, and is then left alone for a second. An open that waits for its
// copy, for its turn at a spinning disk, or for a copy to be suspended, goes on waiting while the
// daemon's heart beats and the kernel does not say that it is stopped.
#pragma once
#include "preload/route.h"

namespace zazen {

inline constexpr int kSendMs = 5;
inline constexpr int kAnswerMs = 250;
inline constexpr int kFillMs = 60'000;  // for fill = "wait"
inline constexpr int kSuspendMs = 2'000;  // of a busy daemon: without an answer the copy goes

// Hands the origin's fd to the daemon. With `wait`, true says that the copy is there now.
bool send_fill(const Route& route, int origin_fd, bool wait);

// The frame changes, or its copy is stale. If the daemon does not answer, the copy's name is
// removed here: the files are the truth, and the daemon's logs follow them (D4). If that cannot
// be either (the copy is root's, and no descriptor is free), the daemon reads of it in the
// counters within a second, and has each open of the dataset checked.
enum class Reason { kChange, kFoundStale };
void invalidate_copy(const Route& route, Reason reason = Reason::kChange);

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

// Asks for the copy to be read into memory, and waits for it (D17).
void request_read_in(const Route& route);

}  // namespace zazen
