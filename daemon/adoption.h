// Adoption: a native that was pushed before the origin had the frame gets its identity (D9).
//
// The writer's word and the origin are compared as far as that costs nothing: by size, and by
// some pages, which differ if a simulation was run again. A frame that somebody is writing has
// not come yet.
#pragma once
#include <sys/stat.h>

#include "daemon/peer_identity.h"
#include "daemon/store.h"

namespace zazen {

// The origin's descriptor shows the frame of that content: 0, EBUSY if it is being written,
// ESTALE if it is another one. Takes as long as the origin takes.
int compare_with_origin(int content_fd, std::uint64_t size, int origin_fd, struct stat* origin);

// The same for a native that waits; then it takes the place under its name. ENOENT: it waits no
// more. The client, or without one the daemon, has found `origin_fd` by its name, where all
// users are served through the directories `reached`.
int adopt(Store& store, std::uint32_t dataset, FrameSeq seq, int origin_fd, const Peer& client,
          const ReachedDirectories& reached);

}  // namespace zazen
