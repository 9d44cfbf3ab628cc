// AccessList: the users and groups who have a right on one of the origin's files or
// directories: to read, search or list it. The same right can be granted on a file of the cache
// (D15).
//
// The files of the cache belong to root. A POSIX ACL on each names the origin's owner and
// group, and the users and groups in the origin's mode and ACL. The origin's mask is applied.
// So the kernel decides on every open as it would at the origin. An ACL of another kind (NFSv4,
// CIFS) is not translated: then only the owner has the right, unless the list says no more than
// the mode. Where two lists must both allow, and neither is their intersection, only a common
// owner has the right. A list may grant less than the origin, never more: a user who is refused
// reads the origin.
#pragma once
#include <sys/stat.h>

#include <map>
#include <string>

namespace zazen {

struct OriginAcl {
  enum class Kind { kNone, kPosix, kForeign };
  Kind kind = Kind::kNone;
  std::string value;  // kPosix: the attribute as the kernel gives it
  template <class A>
  void fields(A& a) {
    a(kind, value);
  }
};
// kForeign if it cannot be read.
OriginAcl read_acl(int fd);
OriginAcl read_acl(const std::string& path);
// True for an NFSv4 ACL, in the form of the attribute system.nfs4_acl, that names only the
// owner, the group and everybody. Such a list says the same as the mode.
bool is_plain_nfs4_acl(const std::string& value);

enum class Right : unsigned { kRead = 4, kSearch = 1 };

class AccessList {
 public:
  static AccessList everybody();
  static AccessList nobody() { return {}; }
  // The users and groups to whom the file's mode and ACL give the right.
  static AccessList of(const struct stat& file, const OriginAcl& acl, Right right);

  bool is_everybody() const;
  // The users and groups that both lists allow, or fewer.
  AccessList both(const AccessList& other) const;
  // Grants them this right and no other on a file or directory of the cache. Its owner keeps
  // the owner's rights. 0 or an errno.
  int grant(int fd, Right right) const;

  bool operator==(const AccessList&) const = default;
  template <class A>
  void fields(A& a) {  // link_codec.h
    a(owner_, owner_may_, users_, group_, group_may_, groups_, others_may_);
  }

 private:
  uid_t owner_ = 0;
  bool owner_may_ = false;
  std::map<uid_t, bool> users_;
  gid_t group_ = 0;
  bool group_may_ = false;
  std::map<gid_t, bool> groups_;
  bool others_may_ = false;
};

}  // namespace zazen
