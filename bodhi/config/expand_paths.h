// The directories that a path with '*' stands for, such as "/proj/*/traj*".
//
// Looks with the rights of the caller, and blocks as long as the file systems do: zazend has a
// worker look (D23). A component with '*' stands for real directories only, and no component
// after it may be a link. So nobody makes another one's directory a dataset by a symbolic link.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace zazen {

struct ExpandedPath {
  static constexpr std::size_t kMost = 256;
  bool is_known = false;           // false: a file system did not answer, or failed
  std::vector<std::string> paths;  // sorted; the first ones if there are more than kMost
};

bool is_pattern(const std::string& path);
// By components. A '*' stands for no '/', nor for a '.' at the beginning of a name.
bool path_matches(const std::string& path, const std::string& pattern);

ExpandedPath expand_path(const std::string& pattern);
// Each pattern on a thread of its own, which may outlive the call; a later call gets its
// answer.
std::vector<ExpandedPath> expand_paths(const std::vector<std::string>& patterns,
                                       std::chrono::milliseconds limit);

}  // namespace zazen
