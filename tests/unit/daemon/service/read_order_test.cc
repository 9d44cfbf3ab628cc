// Copies are read into memory one at a time, in the order in which they were asked for. The
// kernel says what is in memory (mincore).
#include "daemon/service/read_order.h"

#include <sys/mman.h>

#include <future>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class ReadOrderTest : public Scratch {
 protected:
  void SetUp() override {
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
  }
  void make_copy(FrameSeq seq, std::size_t size = 1 << 20) {
    write_file(copy("f" + std::to_string(seq)), std::string(size, 'x'));
    UniqueFd file = store_->open_copy(0, seq);
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  static constexpr std::size_t kLastPage = ~std::size_t{0};
  bool is_in_memory(FrameSeq seq) { return is_in_memory(store_->open_copy(0, seq), kLastPage); }
  // Looking at it by a read would bring it in. It is not closed: that ends its turn.
  bool is_in_memory(const UniqueFd& file, std::size_t page) {
    struct stat st = {};
    EXPECT_EQ(::fstat(file.get(), &st), 0);
    const auto size = static_cast<std::size_t>(st.st_size);
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    std::vector<unsigned char> pages(size / 4096);
    EXPECT_EQ(::mincore(memory, size, pages.data()), 0);
    ::munmap(memory, size);
    return (pages[std::min(page, pages.size() - 1)] & 1) != 0;
  }
  // Earlier requests have been served, too.
  int ask_and_wait(ReadOrder& order, FrameSeq seq) {
    std::promise<int> answer;
    order.ask(0, seq, [&](int status) { answer.set_value(status); });
    return answer.get_future().get();
  }

  std::unique_ptr<Store> store_;
};

TEST_F(ReadOrderTest, OneAtATimeInTheOrderOfArrival) {
  Frames asked = {5, 2, 9, 1, 7, 3};
  for (FrameSeq seq : asked) make_copy(seq);
  if (is_in_memory(5)) GTEST_SKIP() << "this file system keeps what it is told to forget";
  Frames done;
  bool one_at_a_time = true;
  std::promise<void> all;
  ReadOrder order(*store_, ReadOrderKey::kFifo);
  for (FrameSeq seq : asked) {
    order.ask(0, seq, [&, seq](int status) {
      EXPECT_EQ(status, 0);
      done.push_back(seq);
      for (std::size_t i = 0; i < asked.size(); ++i) {
        one_at_a_time = one_at_a_time && is_in_memory(asked[i]) == (i < done.size());
      }
      if (done.size() == asked.size()) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_EQ(done, asked);
  EXPECT_TRUE(one_at_a_time);
  EXPECT_EQ(order.copies_read(), asked.size());
}

TEST_F(ReadOrderTest, CopyThatIsGoneIsToldSo) {
  ReadOrder order(*store_, ReadOrderKey::kFifo);
  std::promise<int> answer;
  order.ask(0, 1, [&](int status) { answer.set_value(status); });
  EXPECT_EQ(answer.get_future().get(), ENOENT);
}

// The answer comes with the first megabyte; whoever keeps the copy open gets the rest as well.
TEST_F(ReadOrderTest, AnswersWhenTheBeginningIsThere) {
  constexpr std::size_t kSize = 32 << 20;
  make_copy(1, kSize);
  make_copy(2);
  if (is_in_memory(1)) GTEST_SKIP() << "this file system keeps what it is told to forget";
  ReadOrder order(*store_, ReadOrderKey::kFifo);
  const UniqueFd open = store_->open_copy(0, 1);
  bool is_early = false;
  order.ask(0, 1, [&](int status) {
    EXPECT_EQ(status, 0);
    is_early = !is_in_memory(open, kLastPage) && is_in_memory(open, 0);
  });
  EXPECT_EQ(ask_and_wait(order, 2), 0);
  EXPECT_TRUE(is_early);
  EXPECT_TRUE(is_in_memory(1)) << "the turn goes on to the copy's end";
  EXPECT_EQ(order.copies_read(), 2u);
}

TEST_F(ReadOrderTest, CopyThatIsClosedIsReadNoFurther) {
  constexpr std::size_t kSize = 32 << 20;
  for (FrameSeq seq : {1, 2, 3}) make_copy(seq, kSize);
  if (is_in_memory(1)) GTEST_SKIP() << "this file system keeps what it is told to forget";
  ReadOrder order(*store_, ReadOrderKey::kFifo);
  for (FrameSeq seq : {1, 2}) {
    UniqueFd open = store_->open_copy(0, seq);
    order.ask(0, seq, [&](int status) {
      EXPECT_EQ(status, 0);
      EXPECT_TRUE(is_in_memory(open, 0));
      open = UniqueFd();  // it has read the header
    });
    // Others that are closed do not count.
    UniqueFd other = store_->open_copy(0, 3);
    EXPECT_EQ(ask_and_wait(order, 9), ENOENT);
    EXPECT_FALSE(is_in_memory(seq));
  }
  // A watch that has fired once says nothing of the next turn.
  const UniqueFd open = store_->open_copy(0, 1);
  EXPECT_EQ(ask_and_wait(order, 1), 0);
  ask_and_wait(order, 9);
  EXPECT_TRUE(is_in_memory(1));
}

TEST_F(ReadOrderTest, ConfigurationDecidesElseTheSeek) {
  EXPECT_TRUE(ReadOrder(*store_, ReadOrderKey::kFifo).state().is_ordered);
  EXPECT_FALSE(ReadOrder(*store_, ReadOrderKey::kNone).state().is_ordered);
  ReadOrder order(*store_, ReadOrderKey::kAuto);
  EXPECT_FALSE(order.state().is_ordered) << "until it is known";
  order.measure_when_due([](const ReadOrder::State&) { ADD_FAILURE() << "without copies"; });
  ask_and_wait(order, 9);
  EXPECT_FALSE(order.state().is_measured);
}

ReadTimes times(std::vector<double> random, std::vector<double> sequential) {
  return {std::move(random), std::move(sequential)};
}

TEST(SeekCostTest, IsWhatARandomReadTakesLonger) {
  const std::vector<double> flash(24, 0.12), disk(24, 9.5), buffer(24, 0.2), far(24, 6.0);
  EXPECT_GT(*seek_cost_ms(times(disk, buffer)), kExpensiveSeekMs);
  EXPECT_LT(*seek_cost_ms(times(flash, flash)), kExpensiveSeekMs);
  EXPECT_LT(*seek_cost_ms(times(far, far)), kExpensiveSeekMs) << "a slow way is no seek";
  EXPECT_EQ(*seek_cost_ms(times(buffer, flash)), 0.2 - 0.12);
  EXPECT_EQ(*seek_cost_ms(times(flash, buffer)), 0) << "never less than nothing";
}

TEST(SeekCostTest, FewSlowReadsDoNotDecide) {
  std::vector<double> random(24, 0.1), sequential(24, 0.1);
  for (std::size_t i = 0; i < 16; ++i) random[i] = 200;  // somebody else was at the disk
  EXPECT_LT(*seek_cost_ms(times(random, sequential)), kExpensiveSeekMs);
  std::vector<double> disk(24, 9.0);
  for (std::size_t i = 0; i < 5; ++i) disk[i * 3] = 0.1;  // the disk had them in its memory
  EXPECT_GT(*seek_cost_ms(times(disk, sequential)), kExpensiveSeekMs);
}

TEST(SeekCostTest, TooFewReadsTellNothing) {
  EXPECT_FALSE(seek_cost_ms({}));
  EXPECT_FALSE(seek_cost_ms(times({9, 9, 9}, {0, 0, 0})));
  EXPECT_FALSE(seek_cost_ms(times(std::vector<double>(24, 9.0), {})));
}

}  // namespace
}  // namespace zazen
