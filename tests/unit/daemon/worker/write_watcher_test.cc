#include "daemon/worker/changes/write_watcher.h"

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <optional>
#include <thread>

#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

using namespace std::chrono_literals;
using News = WrittenFrame::News;
using Writers = ClosedFrame::Writers;

// Of this thread, and of those that it starts: leases on other people's files are refused.
class WithoutLeases {
 public:
  WithoutLeases() { set(false); }
  ~WithoutLeases() { set(true); }

 private:
  void set(bool allowed) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    ::syscall(SYS_capget, &header, data);
    const unsigned bit = 1u << CAP_LEASE;
    data[0].effective = allowed ? data[0].effective | bit : data[0].effective & ~bit;
    ::syscall(SYS_capset, &header, data);
  }
};

class WriteWatcherTest : public Scratch {
 protected:
  WriteWatcherTest() {
    limits_.turn = 20ms;
    config_.datasets[0].push = true;
  }
  ~WriteWatcherTest() override { frames_.reset(); }

  WriteWatcher& frames() {
    if (!frames_) {
      WriteWatcher::Hooks hooks;
      hooks.epoch = [this](std::uint32_t, FrameSeq) { return epoch_.load(); };
      hooks.may_change = [](std::uint32_t, const std::string&) { return true; };
      hooks.closed = [this](const ClosedFrame& frame) {
        std::lock_guard lock(mutex_);
        told_.push_back(frame);
        if (frame.is_there && frame.has_changed) closed_.push_back(frame.seq);
        changed_.notify_all();
      };
      frames_.emplace(config_, std::move(hooks), limits_);
    }
    return *frames_;
  }

  // Returns when it is watched.
  int say(FrameSeq seq, News news = News::kChanged) {
    std::promise<int> status;
    frames().take({0, seq, [&](int code) { status.set_value(code); }, news});
    return status.get_future().get();
  }

  Frames closed(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 30s, [&] { return closed_.size() >= count; });
    return closed_;
  }

  // Waits for something that was said of the frame.
  bool told(FrameSeq seq, const std::function<bool(const ClosedFrame&)>& is_it) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] {
      return std::ranges::any_of(
          told_, [&](const ClosedFrame& frame) { return frame.seq == seq && is_it(frame); });
    });
  }
  // Was it said in that epoch?
  bool told_by(const std::function<bool(const ClosedFrame&)>& is_it, std::uint64_t epoch) {
    std::lock_guard lock(mutex_);
    return std::ranges::any_of(
        told_, [&](const ClosedFrame& frame) { return frame.epoch == epoch && is_it(frame); });
  }
  std::size_t times_told() {
    std::lock_guard lock(mutex_);
    return told_.size();
  }

  UniqueFd write(FrameSeq seq) {
    UniqueFd fd(::open(name(seq).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    EXPECT_EQ(::write(fd.get(), "frame", 5), 5);
    return fd;
  }
  std::string name(FrameSeq seq) const { return origin("f" + std::to_string(seq)); }

  WriteWatcher::Limits limits_;
  std::atomic<std::uint64_t> epoch_ = 0;  // of every frame

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Frames closed_;
  std::vector<ClosedFrame> told_;
  std::optional<WriteWatcher> frames_;
};

TEST_F(WriteWatcherTest, TheLastWriterCounts) {
  UniqueFd first = write(1), second = write(1), other = write(2);
  EXPECT_EQ(say(1), 0);
  EXPECT_EQ(say(2), 0);
  EXPECT_TRUE(frames().is_open(0, 1));
  first.reset();
  other.reset();
  EXPECT_EQ(closed(1), Frames{2});
  EXPECT_EQ(frames().count(), 1u);
  second.reset();
  EXPECT_EQ(closed(2), (Frames{2, 1}));
  EXPECT_FALSE(frames().is_open(0, 1));
}

TEST_F(WriteWatcherTest, WhatIsClosedAlreadyIsPushedAtOnce) {
  write(1);
  EXPECT_EQ(say(1), 0);
  EXPECT_EQ(closed(1), Frames{1});
}

// The kernel tells of a closing before the file has lost its writer. On ext4 there is much to
// do in between where a file was cut to nothing and written anew.
TEST_F(WriteWatcherTest, WhatIsStillBeingClosedIsNotForgotten) {
  const std::string content(64 << 20, 'x');
  Frames all;
  for (FrameSeq seq = 0; seq < 3; ++seq) {
    write(seq);
    UniqueFd fd(::open(name(seq).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    EXPECT_EQ(say(seq), 0);
    EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    fd.reset();
    all.push_back(seq);
    ASSERT_EQ(closed(all.size()), all);
  }
}

TEST_F(WriteWatcherTest, AMappingHoldsIt) {
  UniqueFd fd = write(1);
  void* map = ::mmap(nullptr, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  fd.reset();
  say(1);
  write(2);
  say(2);
  EXPECT_EQ(closed(1), Frames{2});
  ::munmap(map, 5);
  EXPECT_EQ(closed(2), (Frames{2, 1}));
}

TEST_F(WriteWatcherTest, WhatIsGoneOrMovedAwayIsForgotten) {
  UniqueFd gone = write(1), moved = write(2), replaced = write(3);
  for (FrameSeq seq : {1, 2, 3}) say(seq);
  std::filesystem::remove(name(1));
  std::filesystem::rename(name(2), origin("elsewhere"));
  UniqueFd other = write(4);
  std::filesystem::rename(name(4), name(3));
  EXPECT_EQ(say(3), 0);
  for (UniqueFd* fd : {&gone, &moved, &replaced}) fd->reset();
  write(5);
  say(5);
  EXPECT_EQ(closed(1), Frames{5});
  other.reset();
  EXPECT_EQ(closed(2), (Frames{5, 3}));
  EXPECT_EQ(frames().count(), 0u);
}

TEST_F(WriteWatcherTest, TwoNamesOfOneFile) {
  UniqueFd fd = write(1);
  std::filesystem::create_hard_link(name(1), name(2));
  say(1);
  say(2);
  fd.reset();
  Frames both = closed(2);
  std::ranges::sort(both);
  EXPECT_EQ(both, (Frames{1, 2}));
}

TEST_F(WriteWatcherTest, WithoutWatchesFramesAreLookedAtInTurns) {
  limits_.watched = 1;
  UniqueFd first = write(1), second = write(2), third = write(3);
  for (FrameSeq seq : {1, 2, 3}) EXPECT_EQ(say(seq), 0);
  third.reset();
  EXPECT_EQ(closed(1), Frames{3});
  second.reset();
  EXPECT_EQ(closed(2), (Frames{3, 2}));
  first.reset();
  EXPECT_EQ(closed(3), (Frames{3, 2, 1}));
}

TEST_F(WriteWatcherTest, TooManyAreCounted) {
  limits_.known = 2;
  UniqueFd first = write(1), second = write(2), third = write(3);
  EXPECT_EQ(say(1), 0);
  EXPECT_EQ(say(2), 0);
  EXPECT_EQ(say(3), EAGAIN);
  EXPECT_EQ(frames().dropped(), 1u);
  first.reset();
  EXPECT_EQ(closed(1), Frames{1});
  EXPECT_EQ(say(3), 0);
}

TEST_F(WriteWatcherTest, WithoutLeasesEachClosingCountsAndARest) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  WithoutLeases without_leases;
  limits_.rest = 200ms;
  UniqueFd first = write(1), second = write(1);
  ASSERT_EQ(::fchown(first.get(), 12345, 12345), 0);
  EXPECT_EQ(say(1), 0);
  EXPECT_TRUE(frames().is_open(0, 1));
  first.reset();
  EXPECT_EQ(closed(1), Frames{1}) << "perhaps it was the last";
  EXPECT_FALSE(frames().is_open(0, 1));
  EXPECT_EQ(::write(second.get(), "more", 4), 4);
  second.reset();
  EXPECT_EQ(closed(2), (Frames{1, 1})) << "it was not";

  write(2);
  ASSERT_EQ(::chown(name(2).c_str(), 12345, 12345), 0);
  EXPECT_EQ(say(2), 0);
  EXPECT_EQ(closed(3), (Frames{1, 1, 2})) << "closed before anybody looked";
}

TEST_F(WriteWatcherTest, AnOpenIsNoChange) {
  write(1);
  write(2);
  write(3);
  UniqueFd only_opened(::open(name(1).c_str(), O_RDWR | O_CLOEXEC));
  UniqueFd written(::open(name(2).c_str(), O_RDWR | O_CLOEXEC));
  UniqueFd both(::open(name(3).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(say(1, News::kOpened), 0);
  EXPECT_EQ(say(2, News::kOpened), 0);
  EXPECT_EQ(say(3, News::kOpened), 0);
  EXPECT_EQ(say(3, News::kChanged), 0);
  EXPECT_EQ(times_told(), 0u);
  std::this_thread::sleep_for(20ms);  // of the clock
  EXPECT_EQ(::pwrite(written.get(), "F", 1, 0), 1);
  only_opened.reset();
  written.reset();
  both.reset();
  auto is_sure = [](const ClosedFrame& frame) { return frame.writers == Writers::kNobody; };
  EXPECT_TRUE(told(1, [&](auto& frame) { return is_sure(frame) && !frame.has_changed; }));
  EXPECT_TRUE(told(2, [&](auto& frame) { return is_sure(frame) && frame.has_changed; }));
  EXPECT_TRUE(told(3, [&](auto& frame) { return is_sure(frame) && frame.has_changed; }));
}

// The epoch that is handed on is the one of before the lease was asked for.
TEST_F(WriteWatcherTest, TheEpochIsTakenFirst) {
  epoch_ = 7;
  UniqueFd fd = write(1);
  EXPECT_EQ(say(1, News::kOpened), 0);
  fd.reset();
  EXPECT_TRUE(told(1, [](auto& frame) { return frame.epoch == 7 && frame.file >= 0; }));
}

TEST_F(WriteWatcherTest, WhatLosesItsNameIsSaidToBeGone) {
  UniqueFd fd = write(1);
  EXPECT_EQ(say(1, News::kOpened), 0);
  std::filesystem::remove(name(1));
  EXPECT_TRUE(told(1, [](auto& frame) { return !frame.is_there; }));
}

TEST_F(WriteWatcherTest, WithoutLeasesAllWhoOpenedItHaveToCloseIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  WithoutLeases without_leases;
  limits_.rest = 1h;
  epoch_ = 1;
  write(1);
  ASSERT_EQ(::chown(name(1).c_str(), 12345, 12345), 0);
  UniqueFd first(::open(name(1).c_str(), O_RDWR | O_CLOEXEC));
  UniqueFd second(::open(name(1).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(say(1, News::kOpened), 0);
  EXPECT_EQ(say(1, News::kOpened), 0);
  auto nobody = [](const ClosedFrame& frame) { return frame.writers == Writers::kNobodyKnown; };
  first.reset();
  EXPECT_TRUE(told(1, [&](auto& frame) { return !nobody(frame); })) << "one has closed it";
  epoch_ = 2;
  second.reset();
  EXPECT_TRUE(told(1, [&](auto& frame) { return nobody(frame) && frame.epoch == 2; }));
  EXPECT_FALSE(told_by(nobody, 1)) << "while the second had it open";
}

TEST_F(WriteWatcherTest, WithoutLeasesItIsNotWaitedForEver) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  WithoutLeases without_leases;
  limits_.rest = 20ms;
  limits_.memory = 100ms;
  epoch_ = 1;
  UniqueFd fd = write(1);
  ASSERT_EQ(::fchown(fd.get(), 12345, 12345), 0);
  EXPECT_EQ(say(1, News::kOpened), 0);
  EXPECT_TRUE(told(
      1, [](auto& frame) { return frame.writers == Writers::kPerhaps && frame.is_last_word; }));
}

TEST_F(WriteWatcherTest, WhatIsNoFrameIsRefused) {
  EXPECT_EQ(say(1), ENOENT);
  std::filesystem::create_directory(name(2));
  EXPECT_EQ(say(2), EINVAL);
  write(3);
  std::filesystem::create_symlink(name(3), name(4));
  EXPECT_EQ(say(4), EINVAL);
  ASSERT_EQ(::mkfifo(name(5).c_str(), 0600), 0);
  EXPECT_EQ(say(5), EINVAL);
}

}  // namespace
}  // namespace zazen
