// MirroredRights: the way to a dataset's copies is as open as the way to its frames (D15).
//
// A copy's own ACL says who may read it. But a frame may be everybody's to read in a directory
// that is not everybody's to enter, so each directory of the cache grants search to those whom
// the origin's directory of that name grants it, and nobody else. The sequence logs and the
// listing tell which frames there are: their directory is for those who may list the frame
// directory. Where a component of the dataset's path is a symbolic link, every directory on the
// way that it leads counts.
//
// What the origin does not say, or says is not there, is closed; while it does not answer at
// all, everything stays as it was when it was last looked at.
#pragma once
#include <string>

#include "bodhi/config/config.h"
#include "daemon/origin/origin_facts.h"

namespace zazen {

// Sets the rights of the directories of `dataset` below `cache_root`, that of the dataset
// itself last. 0, or the errno of a directory whose rights could not be set; then those after
// it are as they were.
int mirror_rights(int cache_root, const DatasetConfig& dataset, const RightsAtOrigin& rights);

// Gives each directory of `below` ("run1/7"), which is in the cache, the searchers of the last
// directories of `reached`. 0 or an errno.
int grant_search(int directory_fd, const std::string& below, const ReachedDirectories& reached);

}  // namespace zazen
