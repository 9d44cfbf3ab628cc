// Adoption: a native that was pushed before the origin had the frame gets its identity (D9).
//
// The writer's word and the origin are compared as far as that costs nothing: by size, and by
// some pages, which differ if a simulation was run again. A frame that somebody is writing has
// not come yet.
#pragma once
#include <sys/stat.h>

#include "daemon/store.h"

namespace zazen {

// The origin's descriptor shows the frame of that content: 0, EBUSY if it is being written,
// ESTALE if it is another one. Takes as long as the origin takes.
int compare_with_origin(int content_fd, std::uint64_t size, int origin_fd, struct stat* origin);

// The same for a native that waits; then it takes the place under its name. ENOENT: it waits no
// more.
int adopt(Store& store, std::uint32_t dataset, FrameSeq seq, int origin_fd);

// The daemon's own look at the origin: not valid, with errno, if it sees no regular file there.
UniqueFd open_origin(const DatasetConfig& dataset, const std::string& name);

}  // namespace zazen
