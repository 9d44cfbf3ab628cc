#include "daemon/acting_as.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace zazen {
namespace {

constexpr unsigned kAsk = ~0U;  // no such user: the call changes nothing, and tells

bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

bool set_user(uid_t uid, gid_t gid) {
  // In this order on the way back, too: CAP_SETGID does not go with the fsuid.
  ::setfsgid(gid);
  ::setfsuid(uid);
  return static_cast<gid_t>(::setfsgid(kAsk)) == gid &&
         static_cast<uid_t>(::setfsuid(kAsk)) == uid;
}

}  // namespace

ActingAs::ActingAs(const PeerIdentity& peer) {
  if (is_own_user(peer)) return;
  int count = ::getgroups(0, nullptr);
  own_groups_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count > 0 && ::getgroups(count, own_groups_.data()) != count) {
    ok_ = false;
    return;
  }
  changed_ = true;
  ok_ = set_groups(peer.groups) && set_user(peer.uid, peer.gid);
}

ActingAs::~ActingAs() {
  if (!changed_) return;
  bool back = set_user(::geteuid(), ::getegid());
  // Who could not take the groups of the other has his own still.
  if (!set_groups(own_groups_) && ok_) back = false;
  // A thread that went on as somebody else would do harm.
  if (!back) std::abort();
  // The kernel forbids core dumps of who changed his fsuid.
  ::prctl(PR_SET_DUMPABLE, 1);
}

}  // namespace zazen
