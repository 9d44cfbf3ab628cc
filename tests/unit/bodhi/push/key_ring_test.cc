// A key file that is replaced: which keys are good, and for how long; one that cannot be used
// changes nothing.
#include "bodhi/push/key_ring.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace zazen {
namespace {

using std::chrono::milliseconds;
using Keys = std::vector<std::string>;

constexpr milliseconds kForEver{3'600'000}, kNot{0};

class KeyRingTest : public ::testing::Test {
 protected:
  KeyRingTest() {
    std::string pattern = ::testing::TempDir() + "/key-ring-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~KeyRingTest() override { std::filesystem::remove_all(directory_); }

  std::string file() const { return directory_ + "/key"; }
  static std::string key(char letter) { return std::string(32, letter); }
  void write(const std::string& content, mode_t mode = 0600) {
    std::ofstream(file(), std::ios::trunc) << content;
    ::chmod(file().c_str(), mode);
  }
  Result<bool> replace(char letter, milliseconds grace) {
    write(key(letter));
    return ring_.read(file(), grace);
  }
  std::string newest() { return ring_.credentials()->key; }

  std::string directory_;
  KeyRing ring_;
};

TEST_F(KeyRingTest, WithoutAFileThereIsNoKey) {
  EXPECT_EQ(newest(), "");
  EXPECT_EQ(ring_.accepted(), Keys{}) << "an empty key proves nothing";
  EXPECT_FALSE(*ring_.read("", kForEver));
}

TEST_F(KeyRingTest, TheOldKeyStaysGoodForTheGrace) {
  EXPECT_TRUE(*replace('a', kForEver));
  EXPECT_FALSE(*replace('a', kForEver));
  EXPECT_FALSE(ring_.old_key_until());
  const std::time_t before = std::time(nullptr);
  EXPECT_TRUE(*replace('b', kForEver));
  EXPECT_EQ(newest(), key('b'));
  EXPECT_EQ(ring_.credentials()->old_keys, Keys{key('a')});
  EXPECT_EQ(ring_.accepted(), (Keys{key('a'), key('b')}));
  EXPECT_FALSE(ring_.drop_ended());
  ASSERT_TRUE(ring_.old_key_until());
  EXPECT_NEAR(static_cast<double>(*ring_.old_key_until() - before), 3'600, 60);
  EXPECT_TRUE(*replace('c', kForEver));
  EXPECT_EQ(ring_.accepted(), (Keys{key('a'), key('b'), key('c')}));
}

TEST_F(KeyRingTest, WithoutAGraceItEndsAtOnce) {
  EXPECT_TRUE(*replace('a', kForEver));
  EXPECT_FALSE(ring_.drop_ended());
  EXPECT_TRUE(*replace('b', kNot));
  EXPECT_EQ(ring_.accepted(), Keys{key('b')});
  EXPECT_FALSE(ring_.old_key_until());
  EXPECT_TRUE(ring_.drop_ended());
  EXPECT_FALSE(ring_.drop_ended());
}

TEST_F(KeyRingTest, AShorterGraceEndsWhatHasALongerOne) {
  EXPECT_TRUE(*replace('a', kForEver));
  EXPECT_TRUE(*replace('b', kForEver));
  EXPECT_FALSE(*replace('b', kNot));
  EXPECT_EQ(ring_.accepted(), Keys{key('b')});
}

TEST_F(KeyRingTest, AKeyThatComesBackIsTheKey) {
  EXPECT_TRUE(*replace('a', kForEver));
  EXPECT_TRUE(*replace('b', kForEver));
  EXPECT_TRUE(*replace('a', kForEver));
  EXPECT_EQ(newest(), key('a'));
  EXPECT_EQ(ring_.credentials()->old_keys, Keys{key('b')});
}

TEST_F(KeyRingTest, AFileThatCannotBeUsedChangesNothing) {
  EXPECT_TRUE(*replace('a', kForEver));
  write(key('b'), 0640);
  EXPECT_FALSE(ring_.read(file(), kForEver));
  write("short");
  EXPECT_FALSE(ring_.read(file(), kForEver));
  ::unlink(file().c_str());
  EXPECT_FALSE(ring_.read(file(), kForEver));
  EXPECT_EQ(ring_.accepted(), Keys{key('a')});
  EXPECT_EQ(newest(), key('a'));
}

TEST_F(KeyRingTest, WhoHasNeverHadAKeyIsToldWhy) {
  KeyRing ring(file());
  EXPECT_EQ(ring.credentials().error().code, ENOENT);
  EXPECT_EQ(ring.accepted(), Keys{});
  write(key('a'));
  EXPECT_TRUE(*ring.read(file(), kForEver));
  EXPECT_EQ(ring.accepted(), Keys{key('a')});
}

}  // namespace
}  // namespace zazen
