// What a client of a daemon that serves all users may ask for (D15). The daemon's own user may
// ask for everything. Of others the origin is asked, in their name: who may do something
// to a dataset there may do the like to its copies here.
#pragma once
#include <string>

#include "bodhi/config.h"
#include "daemon/peer_identity.h"

namespace zazen {

enum class Wish {
  kSearch,  // to reach the dataset's frames: sample
  kList,    // to see which frames there are: ls
  kWrite,   // to make frames: push
  kVouch,   // to say which frames there are: keep a listing
  kManage,  // to let frames go: only the dataset's owner
};

// 0, EACCES, or another errno if the origin cannot tell. May take as long as the origin takes.
int ask_permission(const PeerIdentity& client, Wish wish, const DatasetConfig& dataset);

// The frame, or its name, is the client's to change.
bool may_change(const PeerIdentity& client, const DatasetConfig& dataset,
                const std::string& name);

}  // namespace zazen
