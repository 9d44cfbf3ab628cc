// Whose copy is this file? Asked after a plain stat, of any file: a copy shows its origin's
// identity whoever opened it, in which process, by whatever path, and whether or not the
// daemon still lives (D9). An ordinary file is told by its mode, which costs nothing.
//
// The answer comes from the daemon's index, or else from the copy's attribute. All keep errno.
#pragma once
#include <sys/stat.h>

#include "bodhi/lean/frames/identity.h"
#include "preload/process/node.h"

namespace zazen {

// False: an ordinary file.
bool identity_of_fd(int fd, const struct stat& local, OriginIdentity* identity,
                    dev_t* origin_dev);
// The same for what a path led to, outside of any dataset: /proc/self/fd/3, or the cache
// itself.
bool identity_of_path(int dirfd, const char* path, int flags, const struct stat& local,
                      OriginIdentity* identity, dev_t* origin_dev);

// From the index alone.
bool indexed_identity(const Node& node, const struct stat& local, OriginIdentity* identity);

}  // namespace zazen
