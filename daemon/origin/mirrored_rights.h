// MirroredRights: the way to a dataset's copies is as open as the way to its frames (D15).
//
// A copy's own ACL says who may read it. But everybody may be allowed to read a frame in a
// directory that not everybody may enter. So each directory of the cache grants search to the
// users whom the origin's directory of that name grants it, and to nobody else. The sequence
// logs and the listing tell which frames there are: their directory is for users who may list
// the frame directory. Where a component of the dataset's path is a symbolic link, every
// directory on the way to its target counts.
//
// A directory that the origin does not have or does not show is closed. If the origin does not
// answer, all rights stay as they were at the last look.
#pragma once
#include <string>

#include "bodhi/config/config.h"
#include "daemon/origin/origin_facts.h"

namespace zazen {

// Sets the rights of the directories of `dataset` below `cache_root`, that of the dataset
// itself last. Returns 0, or the errno of the first failure; the directories after it keep
// their rights.
int mirror_rights(int cache_root, const DatasetConfig& dataset, const RightsAtOrigin& rights);

// Sets the rights of each directory of `below` ("run1/7") below `directory_fd` in the cache:
// the searchers of the last directories of `reached`. 0 or an errno.
int grant_search(int directory_fd, const std::string& below, const ReachedDirectories& reached);

}  // namespace zazen
