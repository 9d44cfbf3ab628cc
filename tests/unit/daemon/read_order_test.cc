// Copies are read into memory one at a time, in the order in which they were asked for. What is
// in memory is the kernel's word (mincore).
#include "daemon/read_order.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

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
  void make_copy(FrameSeq seq) {
    write_file(copy("f" + std::to_string(seq)), std::string(1 << 20, 'x'));
    UniqueFd file = store_->open_copy(0, seq);
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  // The last page; looking at it by a read would bring it in.
  bool is_in_memory(FrameSeq seq) {
    constexpr std::size_t kSize = 1 << 20;
    UniqueFd file = store_->open_copy(0, seq);
    void* memory = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(memory, MAP_FAILED);
    unsigned char pages[kSize / 4096] = {};
    EXPECT_EQ(::mincore(memory, kSize, pages), 0);
    ::munmap(memory, kSize);
    return (pages[std::size(pages) - 1] & 1) != 0;
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
  ReadOrder order(*store_);
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
  ReadOrder order(*store_);
  std::promise<int> answer;
  order.ask(0, 1, [&](int status) { answer.set_value(status); });
  EXPECT_EQ(answer.get_future().get(), ENOENT);
}

TEST_F(ReadOrderTest, ConfigurationDecidesElseTheDevice) {
  config_.read_order = ReadOrderKey::kFifo;
  EXPECT_TRUE(orders_reads(config_, 0));
  config_.read_order = ReadOrderKey::kNone;
  EXPECT_FALSE(orders_reads(config_, 0));
  config_.read_order = ReadOrderKey::kAuto;
  EXPECT_FALSE(orders_reads(config_, 0)) << "a device that is not known";
  for (const auto& disk : std::filesystem::directory_iterator("/sys/block")) {
    unsigned major = 0, minor = 0;
    std::sscanf(read_file(disk.path() / "dev").c_str(), "%u:%u", &major, &minor);
    bool rotational = read_file(disk.path() / "queue/rotational").starts_with("1");
    EXPECT_EQ(orders_reads(config_, makedev(major, minor)), rotational) << disk.path();
  }
}

}  // namespace
}  // namespace zazen
