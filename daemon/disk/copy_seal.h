// The last step before a file of content is a copy: its identity, times and mode.
#pragma once
#include <sys/stat.h>

#include "bodhi/lean/frames/identity.h"
#include "daemon/disk/cache_disk.h"

namespace zazen {

// The file has fewer blocks than bytes.
inline bool has_holes(const struct stat& file) {
  return room_of(file) < static_cast<std::uint64_t>(file.st_size);
}

// Gives a copy its identity, the origin's times and the mode of a copy. This is the last step
// before the copy is published. 0 or an errno.
int seal_copy(int fd, const OriginIdentity& identity, const timespec& atime,
              const timespec& mtime);

}  // namespace zazen
