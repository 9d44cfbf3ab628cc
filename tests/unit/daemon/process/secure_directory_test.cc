// Which directories the daemon refuses, and that it says why.
#include "daemon/process/secure_directory.h"

#include "daemon/disk/cache_disk.h"
#include "daemon/process/instance_lock.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class SecureDirectoryTest : public Scratch {
 protected:
  std::string refusal(const std::string& path) {
    Status status = require_secure_directory(path, "cache directory");
    return status.ok() ? "" : status.error().context;
  }
};

TEST_F(SecureDirectoryTest, MissingOneIsMadeWithItsParents) {
  EXPECT_EQ(refusal(directory() + "/a/b/c"), "");
  struct stat st = {};
  ASSERT_EQ(::stat((directory() + "/a/b/c").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat((directory() + "/a/b").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0700, 0700u);
}

TEST_F(SecureDirectoryTest, WritableByOthersIsRefused) {
  ::chmod(cache().c_str(), 0770);
  EXPECT_NE(refusal(cache()).find("writable"), std::string::npos);
  ::chmod(cache().c_str(), 0702);
  EXPECT_NE(refusal(cache()).find("writable"), std::string::npos);
  ::chmod(cache().c_str(), 0755);
  EXPECT_EQ(refusal(cache()), "");
}

TEST_F(SecureDirectoryTest, SymbolicLinkIsRefused) {
  std::filesystem::create_symlink(cache(), directory() + "/link");
  EXPECT_NE(refusal(directory() + "/link").find("symbolic link"), std::string::npos);
}

TEST_F(SecureDirectoryTest, FileIsRefused) {
  write_file(directory() + "/file", "");
  EXPECT_NE(refusal(directory() + "/file").find("not a directory"), std::string::npos);
  EXPECT_NE(refusal(directory() + "/file/below"), "");
}

TEST_F(SecureDirectoryTest, AnotherUsersIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(::chown(cache().c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal(cache()).find("owned by uid 12345"), std::string::npos);
}

TEST_F(SecureDirectoryTest, CacheInWhichNoFileCanBeMadeIsRefused) {
  Result<CacheDisk> disk = CacheDisk::open("/proc");
  ASSERT_FALSE(disk.ok());
  EXPECT_NE(disk.error().context.find("/proc"), std::string::npos);
}

TEST_F(SecureDirectoryTest, LockIsExclusiveAndEndsWithItsOwner) {
  std::string file = cache() + "/lock";
  {
    Result<InstanceLock> first = InstanceLock::take(file, "cache directory X");
    ASSERT_TRUE(first.ok());
    Result<InstanceLock> second = InstanceLock::take(file, "cache directory X");
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.error().context.find("cache directory X: another zazend (pid " +
                                          std::to_string(::getpid())),
              std::string::npos);
  }
  EXPECT_TRUE(InstanceLock::take(file, "cache directory X").ok());
}

}  // namespace
}  // namespace zazen
