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
#include <vector>

#include "bodhi/config.h"
#include "daemon/access_list.h"

namespace zazen {

// Looks at the origin and sets the rights of the directories of `dataset` below `cache_root`.
// 0, or the first errno of a directory of ours whose rights could not be set. *open_to_all says
// whether everybody may go all the way. Takes as long as the origin takes.
int mirror_rights(int cache_root, const DatasetConfig& dataset, bool* open_to_all);

// Who may search the directories of a frame's name ("run1/7" of "run1/7/traj.dcd"), outermost
// first.
std::vector<AccessList> rights_of_directories(const DatasetConfig& dataset,
                                              const std::string& name);

// Gives each directory of `below` ("run1/7"), which is in the cache, its list. 0 or an errno.
int grant_search(int directory_fd, const std::string& below,
                 const std::vector<AccessList>& lists);

}  // namespace zazen
