// What a client of a daemon that serves all users may ask for (D15). The daemon's own user may
// ask for everything. Of others the origin is asked, in their name: who may do something
// to a dataset there may do the like to its copies here.
#pragma once
#include <string>

#include "bodhi/config.h"
#include "bodhi/messages.h"
#include "daemon/peer_identity.h"

namespace zazen {

// 0, EACCES, or another errno if the origin cannot tell. May take as long as the origin takes.
int ask_permission(const PeerIdentity& client, Wish wish, const DatasetConfig& dataset);

// The frame, or its name, is the client's to change.
bool may_change(const PeerIdentity& client, const DatasetConfig& dataset,
                const std::string& name);

}  // namespace zazen
