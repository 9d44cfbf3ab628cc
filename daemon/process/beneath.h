// Making and flushing directories below a directory and never outside of it, as open_beneath()
// opens there.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/open_beneath.h"

namespace zazen {

// Which names are made durable: none, those of directories that are made, or all on the way. A
// flush takes as long where nothing has changed.
enum class Flush { kNone, kMade, kAll };

// mkdir -p below directory_fd with mode 0700; opens the last directory for reading. "" is
// directory_fd itself. Not valid, with errno, if it fails.
UniqueFd make_directory_beneath(int directory_fd, const std::string& path,
                                Flush flush = Flush::kNone);

// "run1/7/traj.dcd" is "traj.dcd" in "run1/7".
std::pair<std::string, std::string> split_name(const std::string& name);

// "/a/b" and "a/b" give "a", "b".
std::vector<std::string> path_components(const std::string& path);

// Makes the removal of the name `path`, and of directories that were removed with it, durable.
// It flushes the deepest directory on the way that is still there. 0 or an errno.
int flush_removal_beneath(int directory_fd, std::string path);

}  // namespace zazen
