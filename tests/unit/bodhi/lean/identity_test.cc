#include "bodhi/lean/frames/identity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>

#include "bodhi/common/unique_fd.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

struct stat some_origin() {
  struct stat st = {};
  st.st_dev = 99;
  st.st_mode = S_IFREG | 0640;
  st.st_uid = 1000;
  st.st_gid = 100;
  st.st_nlink = 2;
  st.st_blocks = 4096;
  st.st_size = 123456789012;
  st.st_ino = 0xfedcba9876543210;
  st.st_mtim = {1'700'000'000, 123'456'789};
  st.st_ctim = {1'700'000'001, 987'654'321};
  return st;
}

TEST(Identity, ShowsWhatTheOriginSaid) {
  struct stat origin = some_origin();
  OriginIdentity identity = identity_of(origin, FrameKind::kAlien, 7);
  EXPECT_EQ(identity.version, kIdentityVersion);
  EXPECT_EQ(identity.kind, FrameKind::kAlien);
  EXPECT_EQ(identity.checksum, 7u);
  struct stat shown = {};
  shown.st_nlink = 1;
  shown.st_blocks = 8;
  show_identity(identity, 55, &shown);
  EXPECT_EQ(shown.st_dev, 55u);
  EXPECT_EQ(shown.st_nlink, 2u);
  EXPECT_EQ(shown.st_blocks, 4096);
  EXPECT_EQ(shown.st_ino, origin.st_ino);
  EXPECT_EQ(shown.st_mode, origin.st_mode);
  EXPECT_EQ(shown.st_uid, origin.st_uid);
  EXPECT_EQ(shown.st_gid, origin.st_gid);
  EXPECT_EQ(shown.st_size, origin.st_size);
  EXPECT_EQ(shown.st_mtim.tv_sec, origin.st_mtim.tv_sec);
  EXPECT_EQ(shown.st_mtim.tv_nsec, origin.st_mtim.tv_nsec);
  EXPECT_EQ(shown.st_ctim.tv_sec, origin.st_ctim.tv_sec);
  EXPECT_EQ(shown.st_ctim.tv_nsec, origin.st_ctim.tv_nsec);
}

TEST(Identity, TimesBefore1970) {
  struct stat origin = some_origin();
  origin.st_mtim = {-5, 250'000'000};
  struct stat shown = {};
  show_identity(identity_of(origin, FrameKind::kNative, 0), 1, &shown);
  EXPECT_EQ(shown.st_mtim.tv_sec, -5);
  EXPECT_EQ(shown.st_mtim.tv_nsec, 250'000'000);
}

TEST(Identity, SameFileComparesSizeTimesAndInode) {
  struct stat origin = some_origin();
  OriginIdentity identity = identity_of(origin, FrameKind::kNative, 0);
  EXPECT_TRUE(same_file(identity, origin));
  struct stat other = origin;
  other.st_size += 1;
  EXPECT_FALSE(same_file(identity, other));
  other = origin;
  other.st_ino += 1;
  EXPECT_FALSE(same_file(identity, other));
  other = origin;
  other.st_mtim.tv_nsec += 1;
  EXPECT_FALSE(same_file(identity, other));
  other = origin;
  other.st_ctim.tv_sec += 1;
  EXPECT_FALSE(same_file(identity, other));
  other = origin;
  other.st_dev = 1;  // another node's mount
  other.st_mode = S_IFREG | 0600;
  EXPECT_TRUE(same_file(identity, other));
}

TEST(Identity, CopiesAreRegularAndSticky) {
  struct stat st = {};
  st.st_dev = 3;
  st.st_mode = S_IFREG | kCopyMode;
  EXPECT_TRUE(looks_like_copy(st, 3));
  EXPECT_FALSE(looks_like_copy(st, 4));
  st.st_mode = S_IFREG | 0400;
  EXPECT_FALSE(looks_like_copy(st, 3));
  st.st_mode = S_IFDIR | 01777;
  EXPECT_FALSE(looks_like_copy(st, 3));
}

class IdentityAttributeTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(fd_.valid());
    if (::fsetxattr(fd_.get(), "user.probe", "x", 1, 0) != 0) {
      GTEST_SKIP() << "no extended attributes here";
    }
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "copy";
  UniqueFd fd_;
};

TEST_F(IdentityAttributeTest, ACopyOfTheCopyIsNone) {
  ASSERT_EQ(write_identity(fd_.get(), identity_of(some_origin(), FrameKind::kNative, 42)), 0);
  OriginIdentity identity = {};
  ASSERT_EQ(::fgetxattr(fd_.get(), kIdentityAttribute, &identity, sizeof identity),
            static_cast<ssize_t>(sizeof identity));
  std::string other = scratch_ / "other";
  UniqueFd fd(::open(other.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_EQ(::fsetxattr(fd.get(), kIdentityAttribute, &identity, sizeof identity, 0), 0);
  EXPECT_EQ(read_identity(fd.get(), &identity), EINVAL);
  EXPECT_EQ(read_identity_at(other.c_str(), &identity), EINVAL);
}

TEST_F(IdentityAttributeTest, ComesBack) {
  errno = EDOM;
  OriginIdentity identity = identity_of(some_origin(), FrameKind::kNative, 42);
  OriginIdentity back = {};
  EXPECT_EQ(read_identity(fd_.get(), &back), ENODATA);
  ASSERT_EQ(write_identity(fd_.get(), identity), 0);
  ASSERT_EQ(read_identity(fd_.get(), &back), 0);
  identity.mark = back.mark;
  EXPECT_EQ(std::memcmp(&back, &identity, sizeof back), 0);
  back = {};
  ASSERT_EQ(read_identity_at(path_.c_str(), &back), 0);
  EXPECT_EQ(std::memcmp(&back, &identity, sizeof back), 0);
  EXPECT_EQ(read_identity_at((scratch_ / "none").c_str(), &back), ENOENT);
  EXPECT_EQ(write_identity(-1, identity), EBADF);
  EXPECT_EQ(errno, EDOM);
}

TEST_F(IdentityAttributeTest, AFlippedBitIsRefused) {
  OriginIdentity identity = identity_of(some_origin(), FrameKind::kNative, 42), back;
  ASSERT_EQ(write_identity(fd_.get(), identity), 0);
  char value[sizeof identity];
  ASSERT_EQ(::fgetxattr(fd_.get(), kIdentityAttribute, value, sizeof value), sizeof value);
  for (std::size_t bit = 0; bit < sizeof value * 8; ++bit) {
    value[bit / 8] = static_cast<char>(value[bit / 8] ^ 1 << bit % 8);
    ASSERT_EQ(::fsetxattr(fd_.get(), kIdentityAttribute, value, sizeof value, 0), 0);
    EXPECT_EQ(read_identity(fd_.get(), &back), EINVAL) << bit;
    value[bit / 8] = static_cast<char>(value[bit / 8] ^ 1 << bit % 8);
  }
}

TEST_F(IdentityAttributeTest, OtherSizesAndVersionsAreRefused) {
  OriginIdentity identity = identity_of(some_origin(), FrameKind::kNative, 42);
  char value[80] = {};
  std::memcpy(value, &identity, sizeof identity);
  OriginIdentity back;
  for (std::size_t size : {0, 1, 63, 65, 80}) {
    ASSERT_EQ(::fsetxattr(fd_.get(), kIdentityAttribute, value, size, 0), 0);
    EXPECT_EQ(read_identity(fd_.get(), &back), EINVAL) << size;
    EXPECT_EQ(read_identity_at(path_.c_str(), &back), EINVAL) << size;
  }
  identity.version = kIdentityVersion + 1;
  ASSERT_EQ(write_identity(fd_.get(), identity), 0);
  EXPECT_EQ(read_identity(fd_.get(), &back), EINVAL);
}

}  // namespace
}  // namespace zazen
