// ActingAs: while one lives, this thread asks file systems in a client's name: his fsuid, his
// fsgid, his groups, and none of root's rights over files (the kernel takes those away with
// the fsuid). The other threads stay as they are: none of these calls goes through libc's
// wrappers, which would change the whole process.
//
// Descriptors that are open already are not affected. /proc/self cannot be asked meanwhile.
#pragma once
#include <vector>

#include "daemon/peer_identity.h"

namespace zazen {

class ActingAs {
 public:
  // The daemon's own user: nothing changes.
  explicit ActingAs(const PeerIdentity& peer);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

  // False: the daemon may not become others (it is not root). Then nothing must be asked.
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
  bool changed_ = false;
  std::vector<gid_t> own_groups_;
};

}  // namespace zazen
