// Copies of frames that are open for writing: what the store makes of them, and what a daemon.
#include "daemon/store/suspended_copies.h"

#include <sys/mman.h>

#include <chrono>
#include <thread>

#include "daemon/process/clock_tick.h"
#include "tests/unit/daemon/filled_store.h"
#include "tests/unit/daemon/zazend_process.h"

namespace zazen {
namespace {

class SuspendedCopiesTest : public FilledStore {
 protected:
  void SetUp() override {
    FilledStore::SetUp();
    std::this_thread::sleep_for(std::chrono::milliseconds(25));  // the tick of the last write
  }
  std::string aside(FrameSeq seq) const {
    return cache() + "/.zazen/suspended" + origin(name(seq));
  }
  void expect_suspended(FrameSeq seq) {
    EXPECT_FALSE(exists(copy(name(seq))));
    EXPECT_EQ(read_file(aside(seq)), content());
    EXPECT_TRUE(store_->is_suspended(0, seq));
    EXPECT_TRUE(store_->find(0, seq).has_value());
  }
  void expect_served(FrameSeq seq) {
    EXPECT_EQ(read_file(copy(name(seq))), content());
    EXPECT_FALSE(exists(aside(seq)));
    EXPECT_FALSE(store_->is_suspended(0, seq));
    EXPECT_TRUE(store_->find(0, seq).has_value());
  }
};

TEST_F(SuspendedCopiesTest, IsHeldWithoutAName) {
  const StoreUsage before = store_->usage();
  EXPECT_EQ(store_->suspend(0, 2), 0);
  expect_suspended(2);
  EXPECT_EQ(store_->usage().bytes, before.bytes);
  EXPECT_EQ(held(), (Frames{1, 2, 3, 4, 5}));
  EXPECT_FALSE(store_->has_lost(0, 2));
  OriginIdentity identity = {};
  EXPECT_EQ(store_->read_copy_identity(0, 2, &identity), 0);
  EXPECT_EQ(store_->restore(0, 2, store_->epoch(0, 2)), 0);
  expect_served(2);
  EXPECT_EQ(alien_log(), held());
}

// A program that changes a frame, and finds neither a name nor a pending copy, tells nobody.
TEST_F(SuspendedCopiesTest, IsPendingBeforeItsNameGoes) {
  constexpr FrameSeq kFirst = 10, kEnd = 1'010;
  const UniqueFd state(
      ::open((cache() + "/.zazen").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd copies(::open(copy().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  PendingCopies pending;
  const auto slots = std::make_unique<std::atomic<std::uint64_t>[]>(kPendingSlots);
  pending.show(slots.get());
  auto suspended =
      SuspendedCopies::open(state.get(), config_.datasets[0], pending, 0, Flush::kAll);
  ASSERT_TRUE(suspended.ok());
  for (FrameSeq seq = kFirst; seq < kEnd; ++seq) write_file(copy(name(seq)), "");
  std::atomic<FrameSeq> missed = 0;
  std::thread program([&] {
    for (FrameSeq seq = kFirst; seq < kEnd;) {
      struct stat st;
      if (::fstatat(copies.get(), name(seq).c_str(), &st, 0) == 0) continue;
      if (pending_now(slots[pending_slot(0, seq)]) == 0) missed = seq;
      ++seq;
    }
  });
  for (FrameSeq seq = kFirst; seq < kEnd; ++seq) {
    EXPECT_EQ((*suspended)->move_in(seq, copies.get(), name(seq)), 0);
  }
  program.join();
  EXPECT_EQ(missed, 0u) << "neither a name nor a pending copy";
  pending.hide(slots.get());
}

TEST_F(SuspendedCopiesTest, ThatCannotBeMovedIsNotPending) {
  const UniqueFd state(
      ::open((cache() + "/.zazen").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd copies(::open(copy().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  PendingCopies pending;
  const auto slots = std::make_unique<std::atomic<std::uint64_t>[]>(kPendingSlots);
  pending.show(slots.get());
  auto suspended =
      SuspendedCopies::open(state.get(), config_.datasets[0], pending, 0, Flush::kAll);
  ASSERT_TRUE(suspended.ok());
  EXPECT_EQ((*suspended)->move_in(99, copies.get(), "f99"), ENOENT);
  EXPECT_FALSE((*suspended)->contains(99));
  EXPECT_EQ(pending_now(slots[pending_slot(0, 99)]), 0u);
  pending.hide(slots.get());
}

TEST_F(SuspendedCopiesTest, WhatIsNotHeldIsNotSuspended) {
  EXPECT_EQ(store_->suspend(0, 9), ENOENT);
  EXPECT_EQ(store_->epoch(0, 9), 0u);
  EXPECT_EQ(store_->restore(0, 9, 0), EAGAIN);
}

// A writer who came after it was asked for writers keeps the copy where it is.
TEST_F(SuspendedCopiesTest, AnotherEpochIsNotRestored) {
  EXPECT_EQ(store_->suspend(0, 2), 0);
  const std::uint64_t epoch = store_->epoch(0, 2);
  EXPECT_EQ(store_->suspend(0, 2), 0);
  EXPECT_NE(store_->epoch(0, 2), epoch);
  EXPECT_EQ(store_->restore(0, 2, epoch), EAGAIN);
  expect_suspended(2);
}

TEST(ClockTick, AWriteInTheSameTickWouldNotBeSeen) {
  using namespace std::chrono;
  const std::int64_t now =
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  const std::int64_t second = 1'000'000'000, whole = now / second * second;
  EXPECT_FALSE(is_tick_over(now | 1));
  EXPECT_TRUE(is_tick_over((now - second / 10) | 1));
  EXPECT_FALSE(is_tick_over(whole)) << "a clock of seconds";
  EXPECT_TRUE(is_tick_over(whole - 3 * second));
  EXPECT_TRUE(is_tick_over((now + 60 * second) | 1)) << "another machine's clock";
}

TEST_F(SuspendedCopiesTest, DropsAndEvictionsFindIt) {
  for (FrameSeq seq : {1, 2, 3}) EXPECT_EQ(store_->suspend(0, seq), 0);
  const FrameSeq one = 1;
  EXPECT_EQ(store_->drop(0, std::span(&one, 1)).frames, 1u);
  EXPECT_EQ(store_->evict(0, {2, 2, true, true, false}).gone.frames, 1u);
  EXPECT_FALSE(exists(aside(1)) || exists(aside(2)));
  EXPECT_EQ(held(), (Frames{3, 4, 5}));
  EXPECT_EQ(store_->suspended(0), Frames{3});
  fill(1);
  expect_served(1);
}

TEST_F(SuspendedCopiesTest, APushMakesItANative) {
  EXPECT_EQ(store_->suspend(0, 2), 0);
  EXPECT_EQ(store_->promote(0, 2), 0);
  expect_suspended(2);
  EXPECT_EQ(store_->find(0, 2)->kind, FrameKind::kNative);
  EXPECT_EQ(native_log(), Frames{2});
}

TEST_F(SuspendedCopiesTest, PinsStay) {
  Amount amount;
  EXPECT_EQ(store_->pin(0, {2, 3}, true, &amount), 0);
  EXPECT_EQ(store_->suspend(0, 2), 0);
  EXPECT_EQ(store_->usage().datasets[0].pinned, 2u);
  EXPECT_EQ(store_->evict(0, {0, 9, true, true, false}).pinned, 2u);
  EXPECT_EQ(store_->restore(0, 2, store_->epoch(0, 2)), 0);
  EXPECT_EQ(store_->usage().datasets[0].pinned, 2u);
}

TEST_F(SuspendedCopiesTest, ARestartFindsIt) {
  for (bool cleanly : {true, false}) {
    EXPECT_EQ(store_->suspend(0, 2), 0);
    if (cleanly) store_->stop_cleanly();
    open_store();
    expect_suspended(2);
    store_->reconcile(0);
    expect_suspended(2);
    EXPECT_EQ(store_->usage().files, 5u);
    EXPECT_EQ(store_->restore(0, 2, store_->epoch(0, 2)), 0);
    expect_served(2);
  }
}

TEST_F(SuspendedCopiesTest, TheOneUnderItsNameStays) {
  EXPECT_EQ(store_->suspend(0, 2), 0);
  std::filesystem::copy_file(aside(2), directory() + "/other");
  open_store();  // the first was moved, and another came
  EXPECT_EQ(store_->restore(0, 2, store_->epoch(0, 2)), 0);
  std::filesystem::rename(directory() + "/other", aside(2));
  open_store();
  store_->reconcile(0);
  expect_served(2);
}

TEST_F(SuspendedCopiesTest, NamesMayHaveDirectories) {
  config_.cache = directory() + "/cache2";
  std::filesystem::create_directory(config_.cache);
  use_template("run/{seq}/traj.dcd");
  Result<CacheDisk> disk = CacheDisk::open(config_.cache);
  ASSERT_TRUE(disk.ok());
  Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
  ASSERT_TRUE(store.ok());
  store_ = std::move(*store);
  write_file(origin("run/7/traj.dcd"), "seven");
  Trust trust([](std::uint32_t, std::uint32_t) {});
  {
    LocalFiller filler(config_, *store_, trust, 64);
    std::promise<int> answer;
    FillRequest request;
    request.seq = 7;
    request.origin = open_origin("run/7/traj.dcd");
    request.done = [&](int status) { answer.set_value(status); };
    ASSERT_TRUE(filler.submit(request));
    ASSERT_EQ(answer.get_future().get(), 0);
  }
  const std::string served = config_.cache + origin("run/7/traj.dcd");
  const std::string kept = config_.cache + "/.zazen/suspended" + origin("run/7/traj.dcd");
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_EQ(store_->suspend(0, 7), 0);
  EXPECT_EQ(read_file(kept), "seven");
  std::filesystem::remove_all(config_.cache + origin("run"));  // went with other frames
  EXPECT_EQ(store_->restore(0, 7, store_->epoch(0, 7)), 0);
  EXPECT_EQ(read_file(served), "seven");
  EXPECT_FALSE(exists(config_.cache + "/.zazen/suspended" + origin("run/7")));
  EXPECT_TRUE(exists(config_.cache + "/.zazen/suspended" + origin("run")));
}

// ---- A daemon

class OpenForWritingTest : public ZazendTest {
 protected:
  void SetUp() override {
    write_config();
    for (FrameSeq seq : {1, 2, 3}) write_file(frame(seq), "content");
    start();
    ASSERT_EQ(push({1, 2, 3}), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  std::string frame(FrameSeq seq) const { return origin("f" + std::to_string(seq)); }
  std::string copy_of(FrameSeq seq) const { return copy("f" + std::to_string(seq)); }
  UniqueFd open_to_write(FrameSeq seq) {
    UniqueFd fd(::open(frame(seq).c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(ask(MessageType::kInvalidate, "f" + std::to_string(seq), -1,
                  kWaitForIt | kOpenForWriting),
              0);
    EXPECT_FALSE(exists(copy_of(seq)));
    return fd;
  }
  static bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 30'000 && !condition(); ++i) ::usleep(1'000);
    return condition();
  }
  bool is_served_again(FrameSeq seq) {
    return comes_true([&] { return exists(copy_of(seq)); });
  }
  bool is_dropped(FrameSeq seq) {
    return comes_true([&] { return !std::ranges::count(native_log(), seq); });
  }
};

TEST_F(OpenForWritingTest, ACopyComesBackWhenTheLastWriterHasClosed) {
  UniqueFd first = open_to_write(1), second = open_to_write(1), other = open_to_write(2);
  first.reset();
  other.reset();
  EXPECT_TRUE(is_served_again(2));
  EXPECT_FALSE(exists(copy_of(1)));
  second.reset();
  EXPECT_TRUE(is_served_again(1));
  EXPECT_EQ(native_log(), (Frames{1, 2, 3}));
}

TEST_F(OpenForWritingTest, AChangeOfTheSameSizeDropsIt) {
  UniqueFd fd = open_to_write(1);
  EXPECT_EQ(::pwrite(fd.get(), "C", 1, 0), 1);
  fd.reset();
  EXPECT_TRUE(is_dropped(1));
  EXPECT_FALSE(exists(copy_of(1)));
}

TEST_F(OpenForWritingTest, AStoreToAMappedPageDropsIt) {
  UniqueFd fd = open_to_write(1);
  void* map = ::mmap(nullptr, 7, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  volatile char* bytes = static_cast<char*>(map);
  (void)bytes[0];
  fd.reset();
  UniqueFd other = open_to_write(2);
  other.reset();
  EXPECT_TRUE(is_served_again(2));
  EXPECT_FALSE(exists(copy_of(1))) << "it is mapped";
  bytes[0] = 'C';
  ::munmap(map, 7);
  EXPECT_TRUE(is_dropped(1));
  EXPECT_FALSE(exists(copy_of(1)));
}

TEST_F(OpenForWritingTest, AFrameThatIsReplacedIsDropped) {
  UniqueFd fd = open_to_write(1);
  write_file(origin("new"), "content");
  std::filesystem::rename(origin("new"), frame(1));
  fd.reset();
  EXPECT_TRUE(is_dropped(1));
}

TEST_F(OpenForWritingTest, ARestartComparesIt) {
  for (int signal : {SIGTERM, SIGKILL}) {
    UniqueFd open = open_to_write(1), closed = open_to_write(2), changed = open_to_write(3);
    end(signal);
    EXPECT_EQ(::pwrite(changed.get(), "C", 1, 0), 1);
    closed.reset();
    changed.reset();
    start();
    EXPECT_TRUE(is_served_again(2));
    EXPECT_TRUE(is_dropped(3));
    EXPECT_FALSE(exists(copy_of(1))) << "somebody has it open";
    open.reset();
    EXPECT_TRUE(is_served_again(1));
    EXPECT_FALSE(exists(copy_of(3)));
    write_file(frame(3), "content");
    ASSERT_EQ(push({3}), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
}

// Nothing else is at hand to see that a mapped page of such a file was changed.
TEST_F(OpenForWritingTest, InMemoryTheBytesAreCompared) {
  std::string memory = "/dev/shm/zazend-test-" + std::to_string(::getpid());
  std::filesystem::create_directory(memory);
  EXPECT_EQ(end(SIGTERM), 0);
  std::filesystem::remove_all(origin());
  std::filesystem::create_directory_symlink(memory, origin());
  for (FrameSeq seq : {1, 2}) write_file(frame(seq), "content");
  start();
  ASSERT_EQ(push({1, 2}), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  UniqueFd same = open_to_write(1), changed = open_to_write(2);
  void* map = ::mmap(nullptr, 7, PROT_READ | PROT_WRITE, MAP_SHARED, changed.get(), 0);
  ASSERT_NE(map, MAP_FAILED);
  volatile char* bytes = static_cast<char*>(map);
  (void)bytes[0];
  bytes[0] = 'C';
  ::munmap(map, 7);
  same.reset();
  changed.reset();
  EXPECT_TRUE(is_served_again(1));
  EXPECT_TRUE(is_dropped(2));
  EXPECT_FALSE(exists(copy_of(2)));
  std::filesystem::remove_all(memory);
}

}  // namespace
}  // namespace zazen
