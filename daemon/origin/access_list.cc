// The attribute system.posix_acl_access is a version and entries of eight bytes, little endian
// on every machine (linux/posix_acl_xattr.h). One call sets it, so nobody sees a half-changed
// list. The kernel turns a list without names into a plain mode.
#include "daemon/origin/access_list.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace zazen {
namespace {

constexpr char kPosixAcl[] = "system.posix_acl_access";
constexpr char kDefaultAcl[] = "system.posix_acl_default";
constexpr char kNfs4Acl[] = "system.nfs4_acl";
constexpr std::size_t kLargestAttribute = 65'536;

// Nothing if it could not be read, empty if there is none.
template <class Get>
std::optional<std::string> read_attribute(Get get, const char* name) {
  std::string value(kLargestAttribute, '\0');
  ssize_t size = get(name, value.data(), value.size());
  if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) return std::string();
  if (size < 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(size));
  return value;
}

// True if an attribute has the name of an access control list of an unknown kind.
bool names_unknown_list(std::string_view names) {
  constexpr std::string_view kNamespace = "system.";
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find('\0'));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (name.starts_with(kNamespace) && name != kPosixAcl && name != kDefaultAcl &&
        name != kNfs4Acl) {
      return true;
    }
  }
  return false;
}

template <class Get, class List>
OriginAcl read_acl_by(Get get, List list) {
  const OriginAcl foreign{OriginAcl::Kind::kForeign, {}};
  std::string names(kLargestAttribute, '\0');
  ssize_t size = list(names.data(), names.size());
  if (size < 0 && errno != EOPNOTSUPP) return foreign;
  if (size > 0 && names_unknown_list({names.data(), static_cast<std::size_t>(size)})) {
    return foreign;
  }
  std::optional<std::string> nfs4 = read_attribute(get, kNfs4Acl);
  if (!nfs4 || (!nfs4->empty() && !is_plain_nfs4_acl(*nfs4))) return foreign;
  std::optional<std::string> posix = read_attribute(get, kPosixAcl);
  if (!posix) return foreign;
  if (posix->empty()) return {};
  return {OriginAcl::Kind::kPosix, std::move(*posix)};
}

struct Entry {
  unsigned tag;
  unsigned permissions;
  std::uint32_t id;
};

// Nothing if the value is damaged.
std::optional<std::vector<Entry>> decode(const std::string& value) {
  posix_acl_xattr_header header;
  if (value.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, value.data(), sizeof header);
  std::size_t rest = value.size() - sizeof header;
  if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION ||
      rest % sizeof(posix_acl_xattr_entry) != 0) {
    return std::nullopt;
  }
  std::vector<Entry> entries;
  for (std::size_t at = sizeof header; at < value.size(); at += sizeof(posix_acl_xattr_entry)) {
    posix_acl_xattr_entry entry;
    std::memcpy(&entry, value.data() + at, sizeof entry);
    entries.push_back({le16toh(entry.e_tag), le16toh(entry.e_perm), le32toh(entry.e_id)});
  }
  return entries;
}

std::string encode(const std::vector<Entry>& entries) {
  posix_acl_xattr_header header = {htole32(POSIX_ACL_XATTR_VERSION)};
  std::string value(reinterpret_cast<const char*>(&header), sizeof header);
  for (const Entry& entry : entries) {
    posix_acl_xattr_entry encoded = {htole16(static_cast<std::uint16_t>(entry.tag)),
                                     htole16(static_cast<std::uint16_t>(entry.permissions)),
                                     htole32(entry.id)};
    value.append(reinterpret_cast<const char*>(&encoded), sizeof encoded);
  }
  return value;
}

// True if the file has this list, with names; then nothing needs to be written.
bool is_set(int fd, const std::string& value) {
  std::string current(value.size() + 1, '\0');
  ssize_t size = ::fgetxattr(fd, kPosixAcl, current.data(), current.size());
  return size == static_cast<ssize_t>(value.size()) &&
         current.compare(0, value.size(), value) == 0;
}

}  // namespace

OriginAcl read_acl(int fd) {
  return read_acl_by(
      [fd](const char* name, void* value, std::size_t size) {
        return ::fgetxattr(fd, name, value, size);
      },
      [fd](char* names, std::size_t size) { return ::flistxattr(fd, names, size); });
}

OriginAcl read_acl(const std::string& path) {
  return read_acl_by(
      [&](const char* name, void* value, std::size_t size) {
        return ::getxattr(path.c_str(), name, value, size);
      },
      [&](char* names, std::size_t size) { return ::listxattr(path.c_str(), names, size); });
}

// XDR: a count, then for each entry type, flags, mask, and a name that is padded to four bytes.
bool is_plain_nfs4_acl(const std::string& value) {
  std::string_view rest = value;
  auto number = [&]() -> std::optional<std::uint32_t> {
    std::uint32_t big_endian;
    if (rest.size() < sizeof big_endian) return std::nullopt;
    std::memcpy(&big_endian, rest.data(), sizeof big_endian);
    rest.remove_prefix(sizeof big_endian);
    return be32toh(big_endian);
  };
  std::optional<std::uint32_t> count = number();
  for (std::uint32_t i = 0; count && i < *count; ++i) {
    std::optional<std::uint32_t> type = number(), flags = number(), mask = number();
    std::optional<std::uint32_t> length = number();
    if (!type || !flags || !mask || !length || *length > rest.size()) return false;
    std::string_view who = rest.substr(0, *length);
    if (who != "OWNER@" && who != "GROUP@" && who != "EVERYONE@") return false;
    rest.remove_prefix(std::min<std::size_t>(rest.size(), (std::size_t{*length} + 3) / 4 * 4));
  }
  return count && rest.empty();
}

AccessList AccessList::everybody() {
  AccessList list;
  list.owner_may_ = list.group_may_ = list.others_may_ = true;
  return list;
}

AccessList AccessList::of(const struct stat& file, const OriginAcl& acl, Right right) {
  const unsigned wanted = static_cast<unsigned>(right);
  AccessList list;
  list.owner_ = file.st_uid;
  list.group_ = file.st_gid;
  list.owner_may_ = (file.st_mode >> 6 & wanted) != 0;
  if (acl.kind == OriginAcl::Kind::kNone) {
    list.group_may_ = (file.st_mode >> 3 & wanted) != 0;
    list.others_may_ = (file.st_mode & wanted) != 0;
    return list;
  }
  if (acl.kind == OriginAcl::Kind::kForeign) return list;
  std::optional<std::vector<Entry>> entries = decode(acl.value);
  if (!entries) return list;
  unsigned mask = ~0U;
  for (const Entry& entry : *entries) {
    if (entry.tag == ACL_MASK) mask = entry.permissions;
  }
  AccessList owner_only = list;
  for (const Entry& entry : *entries) {
    bool may = (entry.permissions & wanted) != 0;
    bool may_with_mask = may && (mask & wanted) != 0;
    switch (entry.tag) {
      case ACL_USER_OBJ:
        list.owner_may_ = owner_only.owner_may_ = may;
        break;
      case ACL_USER:
        list.users_[entry.id] = may_with_mask;
        break;
      case ACL_GROUP_OBJ:
        list.group_may_ = may_with_mask;
        break;
      case ACL_GROUP:
        list.groups_[entry.id] = may_with_mask;
        break;
      case ACL_OTHER:
        list.others_may_ = may;
        break;
      case ACL_MASK:
        break;
      default:
        return owner_only;
    }
  }
  return list;
}

bool AccessList::is_everybody() const {
  auto may = [](const auto& entry) { return entry.second; };
  return owner_may_ && group_may_ && others_may_ && std::ranges::all_of(users_, may) &&
         std::ranges::all_of(groups_, may);
}

AccessList AccessList::both(const AccessList& other) const {
  if (is_everybody() || *this == other) return other;
  if (other.is_everybody()) return *this;
  if (owner_ != other.owner_ || !owner_may_ || !other.owner_may_) return nobody();
  AccessList list;
  list.owner_ = owner_;
  list.owner_may_ = true;
  return list;
}

int AccessList::grant(int fd, Right right) const {
  const unsigned granted = static_cast<unsigned>(right);
  constexpr std::uint32_t kNobody = ACL_UNDEFINED_ID;
  struct stat file = {};
  if (::fstat(fd, &file) != 0) return errno;
  auto permissions = [&](bool may) { return may ? granted : 0; };
  std::vector<Entry> entries = {{ACL_USER_OBJ, file.st_mode >> 6 & 7, kNobody}};
  if (is_everybody()) {
    entries.push_back({ACL_GROUP_OBJ, granted, kNobody});
    entries.push_back({ACL_OTHER, granted, kNobody});
  } else {
    // The origin's owner becomes a named user, because the copy has another owner. The copy's
    // own owner gets no entry by name.
    std::map<uid_t, bool> users = users_;
    users[owner_] = owner_may_;
    users.erase(file.st_uid);
    for (auto [uid, may] : users) entries.push_back({ACL_USER, permissions(may), uid});
    entries.push_back({ACL_GROUP_OBJ, permissions(group_may_), kNobody});
    for (auto [gid, may] : groups_) entries.push_back({ACL_GROUP, permissions(may), gid});
    entries.push_back({ACL_MASK, granted, kNobody});
    entries.push_back({ACL_OTHER, permissions(others_may_), kNobody});
  }
  std::string value = encode(entries);
  // The old list must not apply to the new group: in between nobody has the right.
  if (!is_everybody() && file.st_gid != group_ &&
      (::fchmod(fd, file.st_mode & (07777 & ~S_IRWXG & ~S_IRWXO)) != 0 ||
       ::fchown(fd, static_cast<uid_t>(-1), group_) != 0)) {
    return errno;
  }
  if (is_set(fd, value)) return 0;
  if (::fsetxattr(fd, kPosixAcl, value.data(), value.size(), 0) == 0) return 0;
  // The old list may grant more. So access is closed, which needs no room on the disk.
  int code = errno;
  ::fchmod(fd, file.st_mode & (07777 & ~(S_IRWXG | S_IRWXO)));
  return code;
}

}  // namespace zazen
