// D10: which copies a sample finds stale.
#include "daemon/sample.h"

#include <future>

#include "daemon/filler.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class SampleTest : public Scratch {
 protected:
  void SetUp() override {
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    YoungCopies young([](std::uint32_t, std::uint32_t) {});
    Filler filler(*store_, young, 64, [] {});
    for (FrameSeq seq = 1; seq <= 5; ++seq) {
      std::string name = "f" + std::to_string(seq);
      write_file(origin(name), "content");
      std::promise<int> answer;
      FillRequest request;
      request.seq = seq;
      request.origin = open_origin(name);
      request.done = [&](int status) { answer.set_value(status); };
      ASSERT_TRUE(filler.submit(request));
      ASSERT_EQ(answer.get_future().get(), 0);
    }
  }
  std::unique_ptr<Store> store_;
};

TEST_F(SampleTest, UnchangedOriginIsFresh) {
  SampleResult result = compare_sample(*store_, 0);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.compared, 5u);
  EXPECT_EQ(result.stale, Frames{});
}

TEST_F(SampleTest, RewrittenRemovedAndVanishedAreStale) {
  write_file(origin("f1"), "CONTENT");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, origin("f1").c_str(), times, 0), 0);
  std::filesystem::remove(origin("f3"));
  std::filesystem::remove(copy("f4"));
  EXPECT_EQ(compare_sample(*store_, 0).stale, (Frames{1, 3, 4}));
}

TEST_F(SampleTest, OriginThatIsNotThereProvesNothing) {
  std::filesystem::rename(origin(), directory() + "/moved");
  SampleResult result = compare_sample(*store_, 0);
  EXPECT_EQ(result.status, ENOENT);
  EXPECT_EQ(result.stale, Frames{});
}

}  // namespace
}  // namespace zazen
