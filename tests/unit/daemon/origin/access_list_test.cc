// Lists are translated, intersected and granted so that nobody gains a right.
#include "daemon/origin/access_list.h"

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <endian.h>
#include <sys/xattr.h>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr uid_t kOwner = 70001, kUser = 70002, kStranger = 70003;
constexpr gid_t kGroup = 70100, kTeam = 70101;

struct stat file_of(mode_t mode) {
  struct stat st = {};
  st.st_mode = S_IFREG | mode;
  st.st_uid = kOwner;
  st.st_gid = kGroup;
  return st;
}

std::string xdr(std::uint32_t number) {
  number = htobe32(number);
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string nfs4_entry(const std::string& who) {
  std::string padded = who;
  padded.resize((who.size() + 3) / 4 * 4);
  return xdr(0) + xdr(0) + xdr(1) + xdr(static_cast<std::uint32_t>(who.size())) + padded;
}

TEST(AccessListTest, ForeignListLeavesTheOwner) {
  OriginAcl foreign{OriginAcl::Kind::kForeign, {}};
  AccessList list = AccessList::of(file_of(0644), foreign, Right::kRead);
  EXPECT_EQ(list,
            AccessList::of(file_of(0644), {OriginAcl::Kind::kPosix, "damaged"}, Right::kRead));
  EXPECT_FALSE(list.is_everybody());
  EXPECT_NE(list, AccessList::of(file_of(0044), foreign, Right::kRead));
}

TEST(AccessListTest, Nfs4ListThatNamesNobodySaysWhatTheModeSays) {
  std::string plain = nfs4_entry("OWNER@") + nfs4_entry("GROUP@") + nfs4_entry("EVERYONE@");
  EXPECT_TRUE(is_plain_nfs4_acl(xdr(3) + plain));
  EXPECT_TRUE(is_plain_nfs4_acl(xdr(0)));
  EXPECT_FALSE(is_plain_nfs4_acl(xdr(4) + plain + nfs4_entry("bob@example.org")));
  EXPECT_FALSE(is_plain_nfs4_acl(xdr(4) + plain));
  EXPECT_FALSE(is_plain_nfs4_acl(xdr(2) + plain));
  EXPECT_FALSE(is_plain_nfs4_acl(xdr(~0U)));
  EXPECT_FALSE(is_plain_nfs4_acl(""));
  EXPECT_FALSE(is_plain_nfs4_acl(xdr(1) + xdr(0) + xdr(0) + xdr(1) + xdr(~0U) + "OWNER@"));
}

TEST(AccessListTest, IntersectionNeverAllowsMore) {
  AccessList open = AccessList::of(file_of(0755), {}, Right::kSearch);
  AccessList group = AccessList::of(file_of(0750), {}, Right::kSearch);
  AccessList own = AccessList::of(file_of(0700), {}, Right::kSearch);
  EXPECT_TRUE(open.is_everybody());
  EXPECT_EQ(open.both(group), group);
  EXPECT_EQ(group.both(open), group);
  EXPECT_EQ(group.both(group), group);
  EXPECT_EQ(group.both(own).both(open), own.both(group));
  EXPECT_EQ(group.both(AccessList::nobody()), AccessList::nobody());
  EXPECT_EQ(AccessList::nobody().both(group), AccessList::nobody());
  EXPECT_EQ(AccessList::of(file_of(0050), {}, Right::kSearch).both(own), AccessList::nobody());
}

// The kernel's answer to a process of another user.
class GrantTest : public Scratch {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files rights of others";
    ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
    path_ = directory() + "/copy";
    write_file(path_, "x");
    fd_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fchmod(fd_.get(), 01400), 0);
  }
  bool reads(uid_t uid, gid_t gid, std::vector<gid_t> groups = {}) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_other = ::setgroups(groups.size(), groups.data()) == 0 &&
                            ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0;
      ::_exit(!is_other ? 2 : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_NE(WEXITSTATUS(status), 2);
    return WEXITSTATUS(status) == 0;
  }
  mode_t mode() const {
    struct stat st = {};
    EXPECT_EQ(::fstat(fd_.get(), &st), 0);
    return st.st_mode & 07777;
  }
  std::string path_;
  UniqueFd fd_;
};

TEST_F(GrantTest, EveryCombinationOfReadBits) {
  for (mode_t bits = 0; bits < 8; ++bits) {
    mode_t mode_of_origin = (bits & 4) << 6 | (bits & 2) << 4 | (bits & 1) << 2;
    AccessList list = AccessList::of(file_of(mode_of_origin), {}, Right::kRead);
    ASSERT_EQ(list.grant(fd_.get(), Right::kRead), 0);
    EXPECT_EQ(reads(kOwner, kStranger), (bits & 4) != 0) << bits;
    EXPECT_EQ(reads(kOwner, kGroup, {kGroup}), (bits & 4) != 0) << bits;
    EXPECT_EQ(reads(kUser, kGroup), (bits & 2) != 0) << bits;
    EXPECT_EQ(reads(kUser, kStranger, {kTeam, kGroup}), (bits & 2) != 0) << bits;
    EXPECT_EQ(reads(kStranger, kStranger), (bits & 1) != 0) << bits;
    EXPECT_EQ(mode() & ~07044U, 0400U) << "only reading is granted";
    EXPECT_EQ(mode() & S_ISVTX, S_ISVTX);
  }
}

TEST_F(GrantTest, ListWithNamesGoesWhenEverybodyMay) {
  ASSERT_EQ(AccessList::of(file_of(0640), {}, Right::kRead).grant(fd_.get(), Right::kRead), 0);
  EXPECT_GT(::fgetxattr(fd_.get(), "system.posix_acl_access", nullptr, 0), 0);
  ASSERT_EQ(AccessList::everybody().grant(fd_.get(), Right::kRead), 0);
  EXPECT_LT(::fgetxattr(fd_.get(), "system.posix_acl_access", nullptr, 0), 0);
  EXPECT_EQ(mode(), 01444U);
  ASSERT_EQ(AccessList::nobody().grant(fd_.get(), Right::kRead), 0);
  EXPECT_FALSE(reads(kStranger, kStranger));
  EXPECT_FALSE(reads(kUser, 0)) << "the group of nobody's list is root's";
}

TEST_F(GrantTest, ActingEndsWithItsScope) {
  ASSERT_EQ(AccessList::nobody().grant(fd_.get(), Right::kRead), 0);
  EXPECT_FALSE(reads(kUser, kGroup, {kTeam}));
  EXPECT_TRUE(UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC)).valid());
  EXPECT_TRUE(reads(0, 0)) << "the daemon's own user stays what he is";
}

}  // namespace
}  // namespace zazen
