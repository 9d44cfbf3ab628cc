// Opening below a directory and never outside of it: openat2 with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS, so neither ".." nor a link that is swapped in between leads out.
#pragma once
#include <string>
#include <utility>

#include "bodhi/unique_fd.h"

namespace zazen {

// Not valid, with errno, if it fails. O_CLOEXEC is added.
UniqueFd open_beneath(int directory_fd, const char* path, int flags);

// mkdir -p below directory_fd, mode 0700, and opens the last one for reading. "" is the
// directory itself.
UniqueFd make_directory_beneath(int directory_fd, const std::string& path);

// "run1/7/traj.dcd" is "traj.dcd" in "run1/7".
std::pair<std::string, std::string> split_name(const std::string& name);

// Makes the removal of the name `path` durable, and of the directories that went with it:
// flushes the deepest directory on the way to it that is still there. 0 or an errno.
int flush_removal_beneath(int directory_fd, std::string path);

// Makes every directory on the way to `path`, and its own name, durable. 0 or an errno.
int flush_directories_beneath(int directory_fd, const std::string& path);

}  // namespace zazen
