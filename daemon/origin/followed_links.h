// Follows the symbolic links in the paths of the origins in a child process, because zazend
// itself names no path of an origin (D23).
#pragma once
#include <string>
#include <vector>

#include "bodhi/config/expand_paths.h"

namespace zazen {

// follow_links() of bodhi/config/config.h. The calling process has a single thread. A path that
// the child does not return stays as it is.
std::vector<std::string> follow_in_a_child(const std::vector<std::string>& paths);
// The same for expand_paths() of bodhi/config/expand_paths.h.
std::vector<ExpandedPath> expand_in_a_child(const std::vector<std::string>& patterns);

}  // namespace zazen
