// D10: which copies a sample finds stale.
#include "daemon/validation/sample.h"

#include <thread>

#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

class SampleTest : public FilledStore {
 protected:
  static Frames numbers(const std::vector<ExactCopy>& copies) {
    Frames frames;
    for (const ExactCopy& copy : copies) frames.push_back(copy.seq);
    return frames;
  }
};

TEST_F(SampleTest, UnchangedOriginIsFresh) {
  SampleResult result = compare_sample(*store_, 0, compare_here(config_));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.compared, 5u);
  EXPECT_EQ(result.unknown, 0u);
  EXPECT_EQ(numbers(result.stale), Frames{});
}

TEST_F(SampleTest, RewrittenRemovedAndVanishedAreStale) {
  rewrite(1);
  std::filesystem::remove(origin("f3"));
  std::filesystem::remove(copy("f4"));
  SampleResult result = compare_sample(*store_, 0, compare_here(config_));
  EXPECT_EQ(numbers(result.stale), (Frames{1, 3, 4}));
  EXPECT_EQ(store_->drop_exactly(0, result.stale).frames, 3u);
  EXPECT_EQ(held(), (Frames{2, 5}));
}

TEST_F(SampleTest, OriginThatIsNotThereProvesNothing) {
  std::filesystem::rename(origin(), directory() + "/moved");
  SampleResult result = compare_sample(*store_, 0, compare_here(config_));
  EXPECT_EQ(result.status, ENOENT);
  EXPECT_EQ(numbers(result.stale), Frames{});

  // A mount point without its file system is an empty directory.
  std::filesystem::create_directory(origin());
  result = compare_sample(*store_, 0, compare_here(config_));
  EXPECT_EQ(result.status, ENOENT);
  EXPECT_EQ(numbers(result.stale), Frames{});
}

TEST_F(SampleTest, ACopyThatTookTheStaleOnesPlaceIsNotDropped) {
  rewrite(2);
  SampleResult result = compare_sample(*store_, 0, compare_here(config_));
  ASSERT_EQ(numbers(result.stale), Frames{2});
  fill(2);
  EXPECT_EQ(store_->drop_exactly(0, result.stale).frames, 0u);
  EXPECT_EQ(read_file(copy("f2")), "#######");
}

// Between the end of its file and that of its entry a copy looks like one that was lost.
TEST_F(SampleTest, OneThatIsJustEvictedIsNotStale) {
  constexpr int kRounds = 40;
  Frames frames = held();
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> ended = false;
    std::thread eviction([&] {
      store_->evict(0, {1, 5, true, true, false});
      ended = true;
    });
    while (!ended) {
      SampleResult result = compare_frames(*store_, 0, frames, compare_here(config_), 1);
      EXPECT_EQ(numbers(result.stale), Frames{});
    }
    eviction.join();
    for (FrameSeq seq : frames) fill(seq);
  }
}

}  // namespace
}  // namespace zazen
