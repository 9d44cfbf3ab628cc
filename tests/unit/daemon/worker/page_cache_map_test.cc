// The kernel's answers about a real file's pages.
#include "daemon/worker/fills/page_cache_map.h"

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr std::size_t kMiB = 1 << 20;

class CachedPagesTest : public Scratch {
 protected:
  // A file on a disk, with none of its pages in memory.
  void begin(std::size_t size) {
    write_file(origin("f1"), std::string(size, 'x'));
    file_ = open_origin("f1");
    ASSERT_EQ(::fdatasync(file_.get()), 0);
    ASSERT_EQ(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_RANDOM);
    pages_.emplace(file_.get(), static_cast<off_t>(size));
    ASSERT_TRUE(pages_->known());
    if (pages_->run(0, size) != 0) GTEST_SKIP() << "this file system keeps its pages";
  }
  void read(std::size_t offset, std::size_t size) {
    std::string buffer(size, '\0');
    ASSERT_EQ(::pread(file_.get(), buffer.data(), size, static_cast<off_t>(offset)),
              static_cast<ssize_t>(size));
  }

  UniqueFd file_;
  std::optional<PageCacheMap> pages_;
};

TEST_F(CachedPagesTest, RunIsWhatCanBeReadWithoutTheOrigin) {
  begin(4 * kMiB + 100);
  read(0, 64 << 10);
  EXPECT_EQ(pages_->run(0, kMiB), 64u << 10);
  EXPECT_EQ(pages_->run(1000, kMiB), (64u << 10) - 1000);
  EXPECT_EQ(pages_->run(1000, 500), 500u);
  EXPECT_EQ(pages_->run(64 << 10, kMiB), 0u);
  read(4 * kMiB, 100);
  EXPECT_EQ(pages_->run(4 * kMiB, kMiB), 100u) << "up to the end of the file";
}

TEST_F(CachedPagesTest, ShareIsWhatIsThere) {
  begin(16 * kMiB);
  EXPECT_EQ(pages_->share(), 0);
  read(4 * kMiB, 4 * kMiB);
  EXPECT_NEAR(pages_->share(), 0.25, 0.01);
  read(0, 4 * kMiB);
  EXPECT_NEAR(pages_->share(), 0.5, 0.01);
}

TEST_F(CachedPagesTest, ProgramThatReadsAnywhereIsSeen) {
  begin(64 * kMiB);
  pages_->grew();
  EXPECT_FALSE(pages_->grew());
  read(50 * kMiB, kMiB);
  EXPECT_TRUE(pages_->grew());
  EXPECT_FALSE(pages_->grew());
}

TEST_F(CachedPagesTest, WithoutAMappingEverythingCountsAsThere) {
  write_file(origin("f1"), "x");
  UniqueFd file = open_origin("f1");
  PageCacheMap pages(file.get(), 0);
  EXPECT_FALSE(pages.known());
  EXPECT_EQ(pages.run(0, 4096), 4096u);
  EXPECT_EQ(pages.share(), 1);
  EXPECT_FALSE(pages.grew());
}

TEST_F(CachedPagesTest, WhereTheKernelDoesNotTellReadingStopsAtTheFirstPageThatIsMissing) {
  constexpr std::size_t kSize = 16 * kMiB;
  begin(kSize);
  EXPECT_LT(share_by_reading(file_.get(), kSize), 1) << "a disk may be as fast as memory";
  EXPECT_LE(pages_->share() * 4096, kProbes);
  read(0, kSize);
  double share = 0;  // a thread may lose its processor while it reads
  for (int i = 0; i < 100 && share < 1; ++i) share = share_by_reading(file_.get(), kSize);
  EXPECT_EQ(share, 1);
}

}  // namespace
}  // namespace zazen
