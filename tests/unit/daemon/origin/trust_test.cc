// Reasons for doubt: the dataset is marked at once, and a comparison clears what it answers.
#include "daemon/origin/trust.h"

#include <map>
#include <thread>

#include "tests/unit/daemon/local_cache.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

struct TrustTest : testing::Test {
  Trust::Due due(std::uint32_t dataset, DoubtCause cause, std::int64_t now_ms) {
    std::optional<Trust::Due> found = trust.due(dataset, cause, now_ms);
    EXPECT_TRUE(found.has_value());
    return found.value_or(Trust::Due{});
  }

  std::map<std::uint32_t, std::uint32_t> marks;
  Trust trust{[this](std::uint32_t dataset, std::uint32_t doubts) { marks[dataset] = doubts; }};
};

TEST_F(TrustTest, YoungCopiesAreMarkedForEachDataset) {
  trust.doubt(0, kYoung, 7, 1'000);
  trust.doubt(1, kYoung, 7, 1'500);
  trust.doubt(0, kYoung, 8, 2'000);
  EXPECT_EQ(marks[0], kYoung);
  EXPECT_EQ(marks[1], kYoung);

  EXPECT_FALSE(trust.due(0, kYoung, 1'000 + kYoungMs - 1));
  Trust::Due first = due(0, kYoung, 1'000 + kYoungMs);
  EXPECT_EQ(first.frames, std::vector<FrameSeq>{7});
  trust.clear(first);
  EXPECT_EQ(marks[0], kYoung);
  EXPECT_EQ(marks[1], kYoung);
  Trust::Due second = due(0, kYoung, 2'000 + kYoungMs);
  EXPECT_EQ(second.frames, std::vector<FrameSeq>{8});
  trust.clear(second);
  EXPECT_EQ(marks[0], 0u);
  EXPECT_EQ(marks[1], kYoung);
}

TEST_F(TrustTest, ACopyThatWasTakenAgainMeanwhileStaysYoung) {
  trust.doubt(0, kYoung, 7, 1'000);
  trust.doubt(0, kYoung, 7, 1'000 + kYoungMs);
  Trust::Due comparison = due(0, kYoung, 1'000 + kYoungMs);
  trust.doubt(0, kYoung, 7, 1'000);
  trust.clear(comparison);
  EXPECT_EQ(marks[0], kYoung);
  EXPECT_EQ(due(0, kYoung, 1'000 + 2 * kYoungMs).frames, (std::vector<FrameSeq>{7, 7}));
}

TEST_F(TrustTest, TooManyYoungCopiesAreComparedTogetherWithAllOthers) {
  for (FrameSeq seq = 0; seq < kMostYoung; ++seq) trust.doubt(0, kYoung, seq, 1'000);
  EXPECT_FALSE(due(0, kYoung, 1'000 + kYoungMs).is_whole);
  trust.doubt(0, kYoung, 7, 2'000);
  EXPECT_FALSE(trust.due(0, kYoung, 1'000 + kYoungMs)) << "the last one is to be young as long";
  trust.doubt(0, kYoung, 8, 3'000);
  Trust::Due all = due(0, kYoung, 2'000 + kYoungMs);
  EXPECT_TRUE(all.is_whole);
  EXPECT_TRUE(all.frames.empty());
  trust.clear(all);
  EXPECT_EQ(marks[0], kYoung);
  Trust::Due last = due(0, kYoung, 3'000 + kYoungMs);
  EXPECT_FALSE(last.is_whole);
  EXPECT_EQ(last.frames, std::vector<FrameSeq>{8});
}

TEST_F(TrustTest, AComparisonClearsItsOwnCauseAndNothingNewer) {
  for (DoubtCause cause : {kStale, kUnwatched}) {
    trust.doubt(0, cause, 0, 1'000);
    trust.doubt(0, cause, 0, 1'000);  // the same comparison answers both
    Trust::Due comparison = due(0, cause, 1'000);
    trust.doubt(0, cause, 0, 1'000);
    trust.clear(comparison);
    EXPECT_EQ(marks[0], cause) << "it was said again meanwhile";
    Trust::Due next = due(0, cause, 1'000);
    trust.doubt(0, kYoung, 7, 1'000);
    trust.clear(next);
    EXPECT_EQ(marks[0], kYoung);
    EXPECT_FALSE(trust.is_in_doubt(0)) << "the next start finds young copies by itself";
    trust.clear(due(0, kYoung, 1'000 + kYoungMs));
    EXPECT_EQ(marks[0], 0u);
  }
}

TEST_F(TrustTest, AnOriginThatDoesNotAnswerIsAskedAgainLater) {
  const std::int64_t now_ms = monotonic_ms();
  for (DoubtCause cause : {kUnwatched, kYoung}) {
    trust.doubt(0, cause, 7, now_ms - kYoungMs);
    trust.try_again(due(0, cause, now_ms));
    EXPECT_NE(marks[0] & cause, 0u);
    EXPECT_FALSE(trust.due(0, cause, now_ms + 1'000));
    EXPECT_TRUE(trust.due(0, cause, monotonic_ms() + 3'000));
  }
}

TEST_F(TrustTest, TheDatasetThatHasWaitedLongestIsComparedFirst) {
  const std::int64_t now_ms = monotonic_ms();
  EXPECT_FALSE(trust.await_unwatched(now_ms, {}));
  trust.doubt(0, kStale, 0, now_ms - 100);  // waits for a pass
  trust.doubt(1, kUnwatched, 0, now_ms - 10);
  trust.doubt(2, kUnwatched, 0, now_ms - 20);
  trust.doubt(3, kUnwatched, 0, now_ms - 15);
  for (std::uint32_t expected : {2, 3, 1}) {
    std::optional<Trust::Due> found = trust.await_unwatched(now_ms, {});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->dataset, expected);
    trust.try_again(*found);
  }
  EXPECT_FALSE(trust.await_unwatched(now_ms, {}));
}

TEST_F(TrustTest, ANewDoubtAndAStopEndTheWait) {
  constexpr std::int64_t kForEverMs = 3'600'000;
  std::stop_source stop;
  std::thread waiting([&] {
    std::optional<Trust::Due> found =
        trust.await_unwatched(monotonic_ms() + kForEverMs, stop.get_token());
    ASSERT_TRUE(found.has_value());
    trust.clear(*found);
    EXPECT_FALSE(trust.await_unwatched(monotonic_ms() + kForEverMs, stop.get_token()));
  });
  ::usleep(10'000);
  trust.doubt(3, kUnwatched);
  while (trust.is_in_doubt(3)) ::usleep(1000);
  stop.request_stop();
  waiting.join();
}

class YoungStoreTest : public Scratch {
 protected:
  std::unique_ptr<Store> open_store() {
    Result<CacheDisk> disk = CacheDisk::open(cache());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    return std::move(*store);
  }
};

TEST_F(YoungStoreTest, AliensFetchedShortlyBeforeARestartAreFound) {
  Trust trust([](std::uint32_t, std::uint32_t) {});
  {
    std::unique_ptr<Store> store = open_store();
    EXPECT_TRUE(store->fetched_lately().empty());
    LocalFiller filler(config_, *store, trust, 64);
    for (FrameSeq seq : {1, 2}) {
      write_file(origin("f" + std::to_string(seq)), "frame");
      FillRequest request;
      request.seq = seq;
      request.kind = seq == 1 ? FrameKind::kAlien : FrameKind::kNative;
      request.origin = open_origin("f" + std::to_string(seq));
      ASSERT_TRUE(filler.submit(request));
    }
    while (!store->find(0, 1) || !store->find(0, 2)) ::usleep(1000);
  }
  std::unique_ptr<Store> store = open_store();
  ASSERT_EQ(store->fetched_lately().size(), 1u);
  EXPECT_EQ(store->fetched_lately()[0].second, 1u);
}

}  // namespace
}  // namespace zazen
