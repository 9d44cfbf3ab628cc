// Finds the frame of which a file is the copy. Called after a plain stat of any file. A copy
// shows its origin's identity in every process, for every path, and whether or not the daemon
// lives (D9). The mode already identifies an ordinary file, at no cost.
//
// The identity comes from the daemon's index, or else from the copy's attribute. All functions
// keep errno.
#pragma once
#include <sys/stat.h>

#include "bodhi/lean/frames/identity.h"
#include "preload/process/node.h"

namespace zazen {

// False: an ordinary file.
bool identity_of_fd(int fd, const struct stat& local, OriginIdentity* identity,
                    dev_t* origin_dev);
// The same for a file that was reached by a path outside of any dataset: /proc/self/fd/3, or
// the cache itself.
bool identity_of_path(int dirfd, const char* path, int flags, const struct stat& local,
                      OriginIdentity* identity, dev_t* origin_dev);

// From the index only.
bool indexed_identity(const Node& node, const struct stat& local, OriginIdentity* identity);

}  // namespace zazen
