#include "daemon/origin/mirrored_rights.h"

#include <fcntl.h>

#include <algorithm>

#include "daemon/process/beneath.h"

namespace zazen {
namespace {

std::string frame_directory_below(const DatasetConfig& dataset) {
  return {dataset.name.directory(), dataset.name.directory_length()};
}

int grant_below(int cache_root, const std::string& path, const AccessList& list) {
  UniqueFd directory = open_beneath(cache_root, path.c_str(), O_RDONLY | O_DIRECTORY);
  // A directory of frames does not exist before the first copy in it.
  if (!directory.valid()) return errno == ENOENT ? 0 : errno;
  return list.grant(directory.get(), Right::kSearch);
}

}  // namespace

bool RightsAtOrigin::is_open_to_all() const {
  return std::ranges::all_of(directories, [](const ReachedDirectory& directory) {
    return directory.searchers.is_everybody();
  });
}

int mirror_rights(int cache_root, const DatasetConfig& dataset, const RightsAtOrigin& rights) {
  const std::string own = dataset.path.substr(1);
  int code = grant_below(cache_root, own + "/" + kDatasetStateDirectory, rights.listers);
  std::string path;
  AccessList searchers_of_own = AccessList::nobody();
  auto directory = rights.directories.begin();
  for (const std::string& component :
       path_components(own + "/" + frame_directory_below(dataset))) {
    path += (path.empty() ? "" : "/") + component;
    const AccessList& searchers = directory++->searchers;
    if (path == own) searchers_of_own = searchers;
    if (code == 0 && path != own) code = grant_below(cache_root, path, searchers);
  }
  return code != 0 ? code : grant_below(cache_root, own, searchers_of_own);
}

int grant_search(int directory_fd, const std::string& below,
                 const ReachedDirectories& reached) {
  auto directory = reached.end() - static_cast<std::ptrdiff_t>(path_components(below).size());
  std::string path;
  for (const std::string& component : path_components(below)) {
    path += (path.empty() ? "" : "/") + component;
    UniqueFd ours = open_beneath(directory_fd, path.c_str(), O_RDONLY | O_DIRECTORY);
    if (!ours.valid()) return errno;
    int code = directory++->searchers.grant(ours.get(), Right::kSearch);
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace zazen
