// Links on the ways to the origins, followed by a child process: zazend itself names no path of
// an origin (D23).
#pragma once
#include <string>
#include <vector>

namespace zazen {

// follow_links() of bodhi/config/config.h. For a process with a single thread. Paths that the
// child does not tell are returned as they are.
std::vector<std::string> follow_in_a_child(const std::vector<std::string>& paths);

}  // namespace zazen
