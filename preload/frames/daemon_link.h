// The shim's messages to its daemon about the frame of a route: fill, invalidate, suspend,
// written, sample. bodhi/lean/requests/daemon_request.h has the rules. errno is kept, and
// cancellation is off.
#pragma once
#include "preload/frames/cached_copy.h"

namespace zazen {

// Asks for a copy of the frame, whose origin was opened. With `wait` the daemon gets the fd,
// and true says that the copy exists. Otherwise the user's worker learns of it from the news.
bool send_fill(const Route& route, int origin_fd, bool wait);

// Reports that the frame changes. The user's worker drops the copy; without a worker, see
// drop_copy().
void invalidate_copy(const Route& route);

// To be called before a change, for a frame that may have a copy. The copy is removed first, so
// that no program reads it as current, also if this process is killed before the change. A
// program that owns the copy removes it itself. After the change the copy is removed again,
// because a fill of the old content may have been under way. The second removal returns the
// news that remain to be told: bits of NewsKind.
//
// A caller that has already looked for the copy's name passes the result.
CopyBefore drop_before_change(const Route& route, CopyBefore before);
std::uint32_t drop_after_change(const Route& route, const CopyBefore& before);
inline CopyBefore before_change(const Route& route) {
  return route.node == nullptr ? CopyBefore{}
                               : before_change(*route.node->table, route.dataset, route.seq);
}
// Bits of NewsKind that are told in any case, also if the change fails.
inline std::uint32_t news_of(const CopyBefore& before) {
  return before.name == CopyBefore::kRemoved ? std::uint32_t{kNewsCopyRemoved} : 0;
}

// kNewsChanged, where there are peers.
std::uint32_t changed_for_peers(const Route& route);

// Tells the user's worker, without waiting: by the shared news, or by a message. If one message
// fails, the others are still sent.
void tell_news(const Route& route, std::uint32_t kinds);

// To be called after the program has opened the frame for writing. The copy is not served until
// the last such program closes it (D25): the user's worker suspends it, and this call waits for
// that. Returns the news that remain to be told: kNewsOpened where there is neither a copy nor
// a fill, `written` where the daemon does not answer. Then the copy goes, as for a change.
std::uint32_t suspend_copy(const Route& route, std::uint32_t written);

// Asks the daemon to compare a sample of the dataset's copies with the origin (D10).
bool request_sample(const Route& route);

}  // namespace zazen
