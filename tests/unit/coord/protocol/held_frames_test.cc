#include "coord/protocol/held_frames.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <random>

#include "bodhi/common/unique_fd.h"
#include "bodhi/node/seqlog.h"
#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

std::vector<FrameSeq> random_frames(std::mt19937_64& random) {
  std::vector<FrameSeq> frames;
  for (FrameSeq seq = random() % 5; frames.size() < 700;) {
    const std::uint64_t stride = 1 + random() % 3;
    for (std::uint64_t left = 1 + random() % 200; left != 0; --left, seq += stride)
      frames.push_back(seq);
    seq += random() % 40;
  }
  return frames;
}

TEST(Holdings, ASummaryAndTheRecordsBehindItSayWhatTheLogSays) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    Scratch scratch;
    UniqueFd directory(::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    auto log = SequenceLog::open(directory.get(), "log");
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->append(random_frames(random), {}).ok());
    const Domain domain(FrameSet(random_frames(random)).runs(), {});
    ASSERT_TRUE(log->summarize(directory.get(), "log").ok());
    const std::vector<FrameSeq> added{7, 2000, 3}, forgotten{5, 100, 101};
    ASSERT_TRUE(log->append(added, forgotten).ok());

    const PackedSet by_summary = held_frames(scratch / "log", domain);
    std::filesystem::remove(scratch / "log.summary");
    const PackedSet by_records = held_frames(scratch / "log", domain);
    ASSERT_NE(by_records.count(), 0u);
    ASSERT_TRUE(std::ranges::equal(by_summary.bytes(), by_records.bytes())) << round;
  }
}

TEST(Holdings, WithoutRecordsTheSetIsEmptyInTheSameDomain) {
  Scratch scratch;
  UniqueFd directory(::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Domain domain(FrameSet({3, 4, 9}).runs(), {});
  ASSERT_EQ(held_frames(scratch / "missing", domain), PackedSet(3));
  auto log = SequenceLog::open(directory.get(), "log");
  ASSERT_TRUE(log.ok());
  ASSERT_EQ(held_frames(scratch / "log", domain), PackedSet(3));
  ASSERT_TRUE(log->append(std::vector<FrameSeq>{4, 8}, {}).ok());
  EXPECT_EQ(held_frames(scratch / "log", domain).count(), 1u);
  ASSERT_TRUE(log->append({}, std::vector<FrameSeq>{4}).ok());
  EXPECT_EQ(held_frames(scratch / "log", domain), PackedSet(3));
}

}  // namespace
}  // namespace zazen
