// Opens a path below a directory and never outside of it. openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS refuses ".." and links, also a link that is put in place during the call.
// A raw system call, because a preloaded shim might return a copy.
#pragma once
#include "bodhi/common/unique_fd.h"

namespace zazen {

// Not valid, with errno, if it fails. O_CLOEXEC is added.
UniqueFd open_beneath(int directory_fd, const char* path, int flags);
// The same on the directory's own file system: EXDEV for a mount point, whose server is not
// asked.
UniqueFd open_entry(int directory_fd, const char* name, int flags);

}  // namespace zazen
