#include "daemon/process/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace zazen {

UniqueFd make_directory_beneath(int directory_fd, const std::string& path, Flush flush) {
  UniqueFd current = open_beneath(directory_fd, ".", O_RDONLY | O_DIRECTORY);
  std::size_t begin = 0;
  while (current.valid() && begin < path.size()) {
    std::size_t end = path.find('/', begin);
    if (end == std::string::npos) end = path.size();
    std::string component = path.substr(begin, end - begin);
    begin = end + 1;
    if (component.empty()) continue;
    const bool is_made = ::mkdirat(current.get(), component.c_str(), 0700) == 0;
    if (!is_made && errno != EEXIST) return {};
    const bool is_due = flush == Flush::kAll || (flush == Flush::kMade && is_made);
    if (is_due && ::fsync(current.get()) != 0) return {};
    current = open_beneath(current.get(), component.c_str(), O_RDONLY | O_DIRECTORY);
  }
  return current;
}

std::pair<std::string, std::string> split_name(const std::string& name) {
  std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::vector<std::string> path_components(const std::string& path) {
  std::vector<std::string> components;
  for (std::size_t begin = 0; begin < path.size();) {
    std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) components.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return components;
}

int flush_removal_beneath(int directory_fd, std::string path) {
  for (;;) {
    std::size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "." : path.substr(0, slash);
    UniqueFd parent = open_beneath(directory_fd, path.c_str(), O_RDONLY | O_DIRECTORY);
    if (parent.valid()) return ::fsync(parent.get()) == 0 ? 0 : errno;
    if (errno != ENOENT || path == ".") return errno;
  }
}

}  // namespace zazen
