// A frame's copy in the local cache, by the program's route to it: opening it, and asking for
// its identity. bodhi/lean/frames/copy_rule.h says when it may be served. Every function here
// keeps errno.
#pragma once
#include <alloca.h>
#include <sys/stat.h>

#include "bodhi/lean/frames/identity.h"
#include "preload/frames/route.h"
#include "preload/process/mpi_session.h"

namespace zazen {

// Where a frame's copy lies. Stacks may be small: the memory is the caller's, and as much as it
// takes. CopyPath copy(route, alloca(CopyPath::room(route)));
class CopyPath {
 public:
  static std::size_t room(const Route& route);
  CopyPath(const Route& route, void* memory);
  explicit operator bool() const { return text != nullptr; }

  const char* text;  // null: nowhere
};

// The shim's connection to its daemon; daemon_link.h has its messages.
extern DaemonLink daemon_link;

inline LocalCopy local_copy(const Route& route, const CopyPath& copy) {
  return {
      daemon_link,         *route.node->table,   route.published(),
      route.matcher->name, route.matcher->trust, copy.text,
      route.now_ms,        route.alive,          job_began_ms.load(std::memory_order_relaxed)};
}

// An fd of the copy, or -1: read the origin. Counts the hit.
int open_copy(const Route& route, int flags);

// The copy's stat with the origin's identity over it. False: ask the origin.
bool stat_copy(const Route& route, struct stat* st);

// The two halves of stat_copy, for statx: may the copy speak for its origin, which is on this
// device; and, by the copy's plain stat, who is its origin?
bool copy_may_answer(const Route& route, const CopyPath& copy, dev_t* origin_dev);
bool identify_copy(const Route& route, const CopyPath& copy, const struct stat& local,
                   OriginIdentity* identity);

// The same question without the answer: the frame is here and can be read.
bool copy_is_readable(const Route& route, int access_flags);

}  // namespace zazen
