// Rights of a worker's user, where all users are served (D15). zazend's own user may ask for
// everything. For others the worker asks the origin, with their rights: a user who may do
// something to a dataset there may do the like to its copies here.
#pragma once
#include <string>

#include "bodhi/config/config.h"
#include "bodhi/lean/requests/messages.h"

namespace zazen {

// 0, EACCES, or another errno if the origin cannot answer. May take as long as the origin
// takes.
int ask_permission(Wish wish, const DatasetConfig& dataset);

// True if the user may change the frame, or its name.
bool may_change(const DatasetConfig& dataset, const std::string& name);

// 0 if the path is that of a directory without any link in it, and the directory is this
// user's; zazend's own user, and root, need not own it. Else an errno; EACCES: it is another
// user's.
int check_own_directory(const std::string& path, bool may_be_anybodys);

}  // namespace zazen
