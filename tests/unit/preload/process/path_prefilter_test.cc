// Which paths the shim looks at more closely, by their text alone.
#include "preload/process/dataset_matcher.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace zazen {
namespace {

FrameName name_of(const char* frames) {
  FrameName name;
  const char* why = nullptr;
  EXPECT_TRUE(FrameName::parse(frames, std::strlen(frames), &name, &why)) << why;
  return name;
}

class PathPrefilterTest : public ::testing::Test {
 protected:
  std::atomic<DaemonState> state_ = DaemonState::kServing;
  PathPrefilter look_{&state_};
};

TEST_F(PathPrefilterTest, FramesThatEndWithTheirNumberEndWithADigit) {
  look_.add(name_of("f{seq}"));
  EXPECT_TRUE(look_.may_be_frame("/sim1/f0"));
  EXPECT_TRUE(look_.may_be_frame("9"));
  EXPECT_FALSE(look_.may_be_frame("/sim1/f0.txt"));
  EXPECT_FALSE(look_.may_be_frame("/sim1/"));
  EXPECT_FALSE(look_.may_be_frame(""));
  EXPECT_FALSE(look_.may_be_frame(nullptr));
}

TEST_F(PathPrefilterTest, OtherFramesEndWithTheLastByteOfTheirTemplate) {
  look_.add(name_of("frame-{seq:06}.xtc"));
  EXPECT_TRUE(look_.may_be_frame("frame-000001.xtc"));
  EXPECT_FALSE(look_.may_be_frame("frame-000001"));
  look_.add(name_of("f{seq}"));
  EXPECT_TRUE(look_.may_be_frame("frame-000001"));
}

TEST_F(PathPrefilterTest, CompanionsOfFramesCountToo) {
  FrameName name = name_of("f{seq}.dcd");
  const char* why = nullptr;
  ASSERT_TRUE(name.add_also(".*.npz", 6, &why)) << why;
  look_.add(name);
  EXPECT_TRUE(look_.may_be_frame("/sim1/.f1.dcd.npz"));
  EXPECT_FALSE(look_.may_be_frame("/sim1/f1.txt"));
}

TEST_F(PathPrefilterTest, WithoutADaemonThatServesEveryPathMayBeAFrame) {
  look_.add(name_of("f{seq}"));
  for (DaemonState state : {DaemonState::kStarting, DaemonState::kStopped,
                            DaemonState::kSuperseded, DaemonState::kOutOfUse}) {
    state_ = state;
    EXPECT_TRUE(look_.may_be_frame("/etc/passwd"));
    EXPECT_FALSE(look_.may_be_frame(""));
  }
  std::atomic<DaemonState> newer = DaemonState::kServing;
  look_.trust(&newer);
  EXPECT_FALSE(look_.may_be_frame("/etc/passwd"));
}

TEST_F(PathPrefilterTest, LinksOfProcMayLeadToACopy) {
  look_.add(name_of("{seq}.xtc"));
  EXPECT_TRUE(look_.may_lead_to_copy("/proc/self/fd/stdin"));
  EXPECT_TRUE(look_.may_lead_to_copy("/dev/stdin"));
  EXPECT_TRUE(look_.may_lead_to_copy("7"));  // below /proc/self/fd
  EXPECT_TRUE(look_.may_lead_to_copy("/sim1/7.xtc"));
  EXPECT_FALSE(look_.may_lead_to_copy("/usr/lib/libm.so"));
  EXPECT_FALSE(look_.may_lead_to_copy("stdin"));
}

TEST_F(PathPrefilterTest, PathsBesideFramesBeginAsAllDatasetsDo) {
  EXPECT_FALSE(look_.may_be_beside("/data/a/x"));
  EXPECT_FALSE(look_.may_be_beside_by_file("x"));
  look_.add_directory("/data/a");
  EXPECT_TRUE(look_.may_be_beside("/data/a/x"));
  EXPECT_FALSE(look_.may_be_beside("/data/b/x"));
  look_.add_directory("/data/b");
  EXPECT_TRUE(look_.may_be_beside("/data/b/x"));
  EXPECT_TRUE(look_.may_be_beside("/data/c"));
  EXPECT_FALSE(look_.may_be_beside("/date"));
  EXPECT_FALSE(look_.may_be_beside("/dat"));
  EXPECT_FALSE(look_.may_be_beside(nullptr));
  EXPECT_TRUE(look_.may_be_beside_by_file("x"));
  EXPECT_FALSE(look_.may_be_beside_by_file("/etc"));
}

// The page behind the text cannot be read.
TEST(TextLength, IsThatOfStrlenAndTouchesNoOtherPage) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char* end = static_cast<char*>(memory) + page;
  ASSERT_EQ(::mprotect(end, page, PROT_NONE), 0);
  std::memset(memory, 'x', page);
  for (std::size_t length = 0; length < 64; ++length) {
    for (std::size_t behind = 1; behind < 33; ++behind) {
      char* zero = end - behind;
      *zero = '\0';
      EXPECT_EQ(text_length(zero - length), length);
      *zero = 'x';
    }
  }
  ::munmap(memory, 2 * page);
}

}  // namespace
}  // namespace zazen
