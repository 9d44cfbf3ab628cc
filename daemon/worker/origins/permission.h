// What the user of a worker may ask for, where all users are served (D15). zazend's own user may
// ask for everything. Of others the origin is asked, with their rights: who may do something to
// a dataset there may do the like to its copies here.
#pragma once
#include <string>

#include "bodhi/config/config.h"
#include "bodhi/lean/requests/messages.h"

namespace zazen {

// 0, EACCES, or another errno if the origin cannot tell. May take as long as the origin takes.
int ask_permission(Wish wish, const DatasetConfig& dataset);

// The frame, or its name, is this user's to change.
bool may_change(const DatasetConfig& dataset, const std::string& name);

}  // namespace zazen
