// Young copies: marked before they are published, compared again when their time has come.
#include "daemon/young_copies.h"

#include <map>

#include "daemon/filler.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

TEST(YoungCopiesTest, CountsAreMarkedForEachDataset) {
  std::map<std::uint32_t, std::uint32_t> marks;
  YoungCopies young(
      [&](std::uint32_t dataset, std::uint32_t count) { marks[dataset] = count; });
  young.note(0, 7, 1'000);
  young.note(1, 7, 1'500);
  young.note(0, 8, 2'000);
  EXPECT_EQ(marks[0], 2u);
  EXPECT_EQ(marks[1], 1u);

  EXPECT_TRUE(young.due(0, 1'000 + kYoungMs - 1).empty());
  EXPECT_EQ(young.due(0, 1'000 + kYoungMs), std::vector<FrameSeq>{7});
  young.settle(0, {7}, 1'000 + kYoungMs);
  EXPECT_EQ(marks[0], 1u);
  EXPECT_EQ(marks[1], 1u);
  EXPECT_EQ(young.due(0, 2'000 + kYoungMs), std::vector<FrameSeq>{8});
}

TEST(YoungCopiesTest, ACopyThatWasTakenAgainMeanwhileStaysYoung) {
  std::uint32_t mark = 0;
  YoungCopies young([&](std::uint32_t, std::uint32_t count) { mark = count; });
  young.note(0, 7, 1'000);
  young.note(0, 7, 1'000 + kYoungMs);
  young.settle(0, {7}, 1'000 + kYoungMs);
  EXPECT_EQ(mark, 1u);
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
  YoungCopies young([](std::uint32_t, std::uint32_t) {});
  {
    std::unique_ptr<Store> store = open_store();
    EXPECT_TRUE(store->fetched_lately().empty());
    Filler filler(*store, young, 64, [] {});
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
