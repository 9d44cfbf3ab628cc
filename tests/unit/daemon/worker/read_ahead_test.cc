// A thread follows a program that reads a large frame, and fetches ahead of it. The test is the
// program.
#include "daemon/worker/fills/read_ahead.h"

#include <thread>

#include "daemon/worker/fills/page_cache_map.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr std::size_t kMiB = 1 << 20, kPage = 4096;
constexpr std::size_t kSize = 64 * kMiB, kStep = 128 << 10;

class ReadAheadTest : public Scratch {
 protected:
  // A file on a disk, with none of its pages in memory.
  void SetUp() override {
    write_file(origin("f1"), std::string(kSize, 'x'));
    program_ = open_origin("f1");
    ASSERT_EQ(::fdatasync(program_.get()), 0);
    ASSERT_EQ(::posix_fadvise(program_.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    ::posix_fadvise(program_.get(), 0, 0, POSIX_FADV_RANDOM);
    pages_.emplace(program_.get(), static_cast<off_t>(kSize));
    if (there() != 0) GTEST_SKIP() << "this file system keeps its pages";
  }
  void TearDown() override {
    ends_ = true;
    if (follower_.joinable()) follower_.join();
  }

  void follow(std::chrono::milliseconds patience) {
    follower_ = std::thread([this, patience] {
      const UniqueFd own = open_origin("f1");
      struct stat st = {};
      ASSERT_EQ(::fstat(own.get(), &st), 0);
      share_ = ahead_.follow(own.get(), st, pace_,
                             {.may_follow =
                                  [this] {
                                    is_asked_ = true;
                                    return may_follow_;
                                  },
                              .ends = [this] { return ends_.load(); },
                              .patience = patience});
    });
  }
  // The program reads on in steps, and gives the follower time to see each.
  void read_up_to(std::size_t end) {
    std::string buffer(kStep, '\0');
    for (; read_ < end; read_ += kStep) {
      ASSERT_EQ(::pread(program_.get(), buffer.data(), kStep, static_cast<off_t>(read_)),
                static_cast<ssize_t>(kStep));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  // Bytes in memory.
  std::size_t there() const {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < kSize; at += kPage) {
      if (pages_->run(static_cast<off_t>(at), kPage) > 0) sum += kPage;
    }
    return sum;
  }
  bool await_there(std::size_t bytes) const {
    for (int i = 0; i < 500 && there() < bytes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return there() >= bytes;
  }

  UniqueFd program_;
  std::optional<PageCacheMap> pages_;
  std::size_t read_ = 0;
  FillThrottle pace_;
  ReadAhead ahead_;
  bool may_follow_ = true, is_asked_ = false;
  std::atomic<bool> ends_ = false;
  double share_ = -1;
  std::thread follower_;
};

constexpr std::chrono::milliseconds kLong(60'000);

TEST_F(ReadAheadTest, AProgramThatPausesFindsTheNextBytesUpToWhatItHasRead) {
  read_up_to(kMiB);
  follow(kLong);
  read_up_to(2 * kMiB);
  ASSERT_TRUE(await_there(read_ + 2 * kStep)) << there();
  read_up_to(8 * kMiB);  // through what was fetched, and the marker in it
  ASSERT_TRUE(await_there(read_ + 4 * kStep)) << "it goes on: " << there();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(there(), 2 * read_);
}

TEST_F(ReadAheadTest, AProgramThatReadsAHeaderIsNotFollowed) {
  read_up_to(kStep);
  follow(kLong);
  follower_.join();
  EXPECT_FALSE(is_asked_);
  EXPECT_EQ(there(), kStep);
  EXPECT_LT(share_, 0.01);
}

TEST_F(ReadAheadTest, ForAProgramThatDoesNotGoOnNothingIsFetched) {
  read_up_to(2 * kMiB);
  follow(std::chrono::milliseconds(300));
  follower_.join();
  EXPECT_EQ(there(), 2 * kMiB);
}

TEST_F(ReadAheadTest, WhatWasFetchedAheadDoesNotCountAsRead) {
  read_up_to(kMiB);
  follow(kLong);
  read_up_to(31 * kMiB);
  ASSERT_TRUE(await_there(kSize / 2 + 4 * kStep)) << there();
  ends_ = true;
  follower_.join();
  EXPECT_LE(there(), 2 * read_);
  follow(kLong);
  follower_.join();
  EXPECT_LT(share_, 0.5);
}

// The program is known to have read the half when it comes to the next marker.
TEST_F(ReadAheadTest, HalfOfTheFrameIsEnough) {
  read_up_to(kMiB);
  follow(kLong);
  read_up_to(kSize - kMiB);
  follower_.join();
  EXPECT_GE(share_, 0.5);
}

TEST_F(ReadAheadTest, WithoutAFreeThreadNobodyIsFollowed) {
  may_follow_ = false;
  read_up_to(kMiB);
  follow(kLong);
  follower_.join();
  EXPECT_EQ(there(), kMiB);
}

}  // namespace
}  // namespace zazen
