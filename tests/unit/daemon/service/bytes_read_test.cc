#include "daemon/service/bytes_read.h"

#include <gtest/gtest.h>

#include <limits>

namespace zazen {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class BytesReadTest : public testing::Test {
 protected:
  void hold(std::uint64_t natives, std::uint64_t aliens, std::uint64_t bytes) {
    held_.datasets.resize(2);
    held_.datasets[1].natives = natives;
    held_.datasets[1].aliens = aliens;
    held_.datasets[1].bytes = bytes;
  }
  void note(std::vector<CountedSince::Opens> opens) {
    CountedSince counted;
    counted.opens = std::move(opens);
    read_.note(counted, held_);
  }
  StoreUsage held_;
  BytesRead read_;
};

TEST_F(BytesReadTest, OpensCountAsTheMeanSizeOfThatTime) {
  hold(1, 1, 300);
  note({{1, 2, 1}, {1, 1, 0}});  // of two users
  EXPECT_EQ(read_.of(1).cache, 450U);
  EXPECT_EQ(read_.of(1).origin, 150U);
  hold(0, 1, 10);
  note({{1, 1, 0}});
  EXPECT_EQ(read_.of(1).cache, 460U);
  EXPECT_EQ(read_.of(0).cache, 0U);
}

TEST_F(BytesReadTest, OpensWaitForAKnownSize) {
  hold(0, 0, 0);
  note({{1, 0, 3}});
  EXPECT_EQ(read_.of(1).origin, 0U);
  hold(0, 2, 40);
  note({});
  EXPECT_EQ(read_.of(1).origin, 60U);
  note({});
  EXPECT_EQ(read_.of(1).origin, 60U);
}

TEST_F(BytesReadTest, FiguresOfAUserWhoLiesStopAtTheMost) {
  hold(1, 0, kMost / 2);
  note({{1, kMost, kMost}});
  note({{1, kMost, kMost}});
  EXPECT_EQ(read_.of(1).cache, kMost);
  EXPECT_EQ(read_.of(1).origin, kMost);
}

}  // namespace
}  // namespace zazen
