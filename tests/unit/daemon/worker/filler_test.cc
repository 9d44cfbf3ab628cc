// The filler on a real store: single flight, bounded queue, pushes.
#include "daemon/worker/fills/filler.h"

#include <future>

#include "tests/unit/daemon/local_cache.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class FillerTest : public Scratch {
 protected:
  void SetUp() override { start(64); }
  void TearDown() override { release_worker(); }

  // One worker, so that the tests can hold it up.
  void start(std::size_t queue_limit) {
    filler_.reset();
    store_.reset();
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok());
    store_ = std::move(*store);
    store_->reconcile(0);
    filler_ = std::make_unique<LocalFiller>(
        config_, *store_, trust_, queue_limit, [this] { ++rooms_; }, 1);
  }

  FillRequest request(FrameSeq seq, FrameKind kind) {
    FillRequest request;
    request.seq = seq;
    request.kind = kind;
    request.origin = open_origin("f" + std::to_string(seq));
    return request;
  }
  std::future<int> submit(FillRequest request) {
    auto answer = std::make_shared<std::promise<int>>();
    request.done = [answer](int status) { answer->set_value(status); };
    EXPECT_TRUE(filler_->submit(request));
    return answer->get_future();
  }
  int fill(FrameSeq seq, FrameKind kind = FrameKind::kAlien) {
    return submit(request(seq, kind)).get();
  }

  // As a program's news tell it; `opened` is the frame whose file it has.
  void miss(FrameSeq seq, std::optional<FrameSeq> opened = std::nullopt) {
    struct stat st = {};
    ASSERT_EQ(::stat(origin("f" + std::to_string(opened.value_or(seq))).c_str(), &st), 0);
    FillRequest request;
    request.seq = seq;
    request.file = file_mark(st);
    ASSERT_TRUE(filler_->submit(request));
  }
  void await_end() {
    while (filler_->under_way() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  // The worker is inside a request's answer until release_worker().
  void occupy_worker() {
    write_file(origin("f999"), "");
    write_file(directory() + "/poison", "");
    FillRequest request;
    request.seq = 999;
    request.origin = UniqueFd(::open((directory() + "/poison").c_str(), O_RDONLY | O_CLOEXEC));
    auto entered = std::make_shared<std::promise<void>>();
    request.done = [entered, gate = gate_.get_future().share()](int) {
      entered->set_value();
      gate.wait();
    };
    occupied_ = true;
    ASSERT_TRUE(filler_->submit(request));
    entered->get_future().wait();
  }
  void release_worker() {
    if (std::exchange(occupied_, false)) gate_.set_value();
  }

  static bool sleeps(pid_t thread) {
    const std::string stat = read_file("/proc/self/task/" + std::to_string(thread) + "/stat");
    return stat.find(") S ") != stat.npos;
  }

  std::promise<void> gate_;
  bool occupied_ = false;
  std::atomic<int> rooms_ = 0;
  std::unique_ptr<Store> store_;
  Trust trust_{[this](std::uint32_t, std::uint32_t doubts) { doubts_ = doubts; }};
  std::atomic<std::uint32_t> doubts_ = 0;
  std::unique_ptr<LocalFiller> filler_;
};

TEST_F(FillerTest, FillMakesAnAlienAndPushANative) {
  write_file(origin("f1"), "one");
  write_file(origin("f2"), "two");
  EXPECT_EQ(fill(1), 0);
  EXPECT_EQ(fill(2, FrameKind::kNative), 0);
  EXPECT_EQ(read_file(copy("f1")), "one");
  EXPECT_EQ(alien_log(), Frames{1});
  EXPECT_EQ(native_log(), Frames{2});
}

TEST_F(FillerTest, PushOfAnAlienMakesItANativeWithoutCopying) {
  write_file(origin("f1"), "one");
  ASSERT_EQ(fill(1), 0);
  std::filesystem::path before = copy("f1");
  struct stat first = {}, second = {};
  ASSERT_EQ(::stat(before.c_str(), &first), 0);
  EXPECT_EQ(fill(1, FrameKind::kNative), 0);
  ASSERT_EQ(::stat(before.c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(alien_log(), Frames{});
}

// The lock on names is given in turn. While a long removal has it, the push finds the alien and
// waits for its turn, behind the removal of that alien.
// A long removal keeps the names locked. Behind it wait the eviction and then the push, which
// has found the alien by then.
TEST_F(FillerTest, PushOfAnAlienThatIsEvictedMeanwhileCopiesIt) {
  write_file(origin("f1"), "one");
  Frames many;
  for (FrameSeq seq = 10; seq < 50'000; ++seq) many.push_back(seq);
  for (int round = 0; round < 3;) {
    ASSERT_EQ(fill(1), 0);
    std::atomic<pid_t> evictor = 0;
    std::atomic<bool> is_evicted = false;
    std::thread removal([&] { store_->drop(0, many); });
    std::thread eviction([&] {
      evictor = ::gettid();
      store_->evict(
          0, {.first = 1, .last = 1, .natives = false, .aliens = true, .dry_run = false});
      is_evicted = true;
    });
    while (!is_evicted && (evictor == 0 || !sleeps(evictor))) std::this_thread::yield();
    if (!is_evicted) ++round;
    std::future<int> pushed = submit(request(1, FrameKind::kNative));
    eviction.join();
    removal.join();
    EXPECT_EQ(pushed.get(), 0);
    EXPECT_EQ(store_->find(0, 1)->kind, FrameKind::kNative);
    EXPECT_EQ(read_file(copy("f1")), "one");
    const FrameSeq one[] = {1};
    store_->drop(0, one);
  }
}

TEST_F(FillerTest, FillOfANativeLeavesItANative) {
  write_file(origin("f1"), "one");
  ASSERT_EQ(fill(1, FrameKind::kNative), 0);
  EXPECT_EQ(fill(1), 0);
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(filler_->counts().fills, 0u);
}

TEST_F(FillerTest, SparseNativeIsChargedForItsBlocksAndEvictsNobody) {
  config_.capacity_bytes = 60'000;
  start(64);
  for (FrameSeq seq = 1; seq <= 5; ++seq) {
    write_file(origin("f" + std::to_string(seq)), std::string(10'000, 'x'));
    ASSERT_EQ(fill(seq), 0);
  }
  write_file(origin("f9"), "");
  ASSERT_EQ(::truncate(origin("f9").c_str(), 30'000'000), 0);
  EXPECT_EQ(fill(9, FrameKind::kNative), 0);
  EXPECT_EQ(store_->usage().evictions, 0u);
  EXPECT_EQ(store_->usage().bytes, 50'000u);
  write_file(origin("f8"), std::string(4096, 'x'));
  ASSERT_EQ(::truncate(origin("f8").c_str(), 30'000'000), 0);
  EXPECT_EQ(fill(8), 0);
  EXPECT_EQ(store_->find(0, 8)->bytes, 4096u);
  EXPECT_EQ(fill(8, FrameKind::kNative), 0) << "it is promoted";
  EXPECT_EQ(store_->find(0, 8)->bytes, 4096u);

  start(64);
  EXPECT_EQ(store_->usage().files, 7u);
  EXPECT_EQ(store_->usage().bytes, 54'096u) << "after an unclean stop";
  store_->stop_cleanly();
  start(64);
  EXPECT_EQ(store_->usage().bytes, 54'096u) << "after a clean stop";
}

TEST_F(FillerTest, PushOfARewrittenFrameReplacesTheCopy) {
  write_file(origin("f1"), "old");
  ASSERT_EQ(fill(1, FrameKind::kNative), 0);
  write_file(origin("f1"), "newer");
  EXPECT_EQ(fill(1, FrameKind::kNative), 0);
  EXPECT_EQ(read_file(copy("f1")), "newer");
  EXPECT_EQ(store_->usage().bytes, 5u);
}

TEST_F(FillerTest, CopyThatVanishedIsMadeAgain) {
  write_file(origin("f1"), "one");
  ASSERT_EQ(fill(1), 0);
  std::filesystem::remove(copy("f1"));
  EXPECT_EQ(fill(1), 0);
  EXPECT_EQ(read_file(copy("f1")), "one");
}

TEST_F(FillerTest, PoisonedDescriptorIsNotCached) {
  write_file(origin("f1"), "one");
  write_file(origin("f2"), "two");
  FillRequest poisoned = request(1, FrameKind::kNative);
  poisoned.origin = open_origin("f2");
  EXPECT_EQ(submit(std::move(poisoned)).get(), EPERM);
  EXPECT_FALSE(exists(copy("f1")));
}

TEST_F(FillerTest, MissedFrameIsOpenedByItsName) {
  write_file(origin("f1"), "one");
  miss(1);
  await_end();
  EXPECT_EQ(read_file(copy("f1")), "one");
  EXPECT_EQ(alien_log(), Frames{1});
}

TEST_F(FillerTest, AnotherFileThanTheMissedOneIsNotCached) {
  write_file(origin("f1"), "one");
  write_file(origin("f2"), "two");
  miss(1, 2);
  await_end();
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(filler_->counts().failed, 1u);
  miss(1);
  await_end();
  EXPECT_EQ(read_file(copy("f1")), "one");
}

// As programs in several mount namespaces see it: the last miss is another file.
TEST_F(FillerTest, FrameThatOthersMissAsAnotherFileIsCached) {
  write_file(origin("f1"), "one");
  for (FrameSeq other : {2, 3, 4}) write_file(origin("f" + std::to_string(other)), "other");
  occupy_worker();
  miss(1);
  for (int turn = 0; turn < 2; ++turn) {
    for (FrameSeq other : {2, 3, 4}) miss(1, other);
  }
  release_worker();
  await_end();
  EXPECT_EQ(read_file(copy("f1")), "one");
}

TEST_F(FillerTest, MissedFrameThatIsReplacedMeanwhileIsNotCached) {
  write_file(origin("f1"), "one");
  write_file(origin("new"), "two");
  miss(1);
  std::filesystem::rename(origin("new"), origin("f1"));
  await_end();
  EXPECT_FALSE(exists(copy("f1")));
}

// The pages of a hole that nobody has read are not in memory.
TEST_F(FillerTest, LargeFrameOfWhichLittleWasReadIsPutAside) {
  write_file(origin("f1"), "header");
  ASSERT_EQ(::truncate(origin("f1").c_str(), 8 << 20), 0);
  write_file(origin("f2"), std::string(2 << 20, 'x'));  // its pages are in memory
  miss(1);
  miss(2);
  while (filler_->under_way() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(exists(copy("f2")));
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(fill(1), 0) << "somebody waits for it";
  EXPECT_EQ(std::filesystem::file_size(copy("f1")), 8u << 20);
  await_end();
  EXPECT_EQ(filler_->counts().fills, 2u);
}

TEST_F(FillerTest, LargeFrameThatIsReadFurtherIsLookedAtAgain) {
  write_file(origin("f1"), "header");
  ASSERT_EQ(::truncate(origin("f1").c_str(), 8 << 20), 0);
  miss(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the first look, or not yet
  read_file(origin("f1"));
  await_end();
  EXPECT_TRUE(exists(copy("f1")));
}

TEST_F(FillerTest, StopDropsWhatWasPutAside) {
  write_file(origin("f1"), "header");
  ASSERT_EQ(::truncate(origin("f1").c_str(), 8 << 20), 0);
  miss(1);
  filler_->stop();
  EXPECT_EQ(filler_->under_way(), 0u);
  EXPECT_FALSE(exists(copy("f1")));
}

TEST_F(FillerTest, FrameIsCopiedOnceHoweverManyAsk) {
  write_file(origin("f1"), "one");
  occupy_worker();
  std::vector<std::future<int>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(submit(request(1, FrameKind::kAlien)));
  release_worker();
  for (std::future<int>& answer : answers) EXPECT_EQ(answer.get(), 0);
  EXPECT_EQ(filler_->counts().fills, 1u);
}

TEST_F(FillerTest, PushDuringAFillStillMakesANative) {
  write_file(origin("f1"), "one");
  occupy_worker();
  std::future<int> filled = submit(request(1, FrameKind::kAlien));
  std::future<int> pushed = submit(request(1, FrameKind::kNative));
  release_worker();
  EXPECT_EQ(filled.get(), 0);
  EXPECT_EQ(pushed.get(), 0);
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(FillerTest, FullQueueDropsFillsAndKeepsPushesWaiting) {
  start(2);
  for (FrameSeq seq = 1; seq <= 4; ++seq) write_file(origin("f" + std::to_string(seq)), "x");
  occupy_worker();
  std::future<int> first = submit(request(1, FrameKind::kAlien));
  std::future<int> second = submit(request(2, FrameKind::kAlien));
  EXPECT_EQ(submit(request(3, FrameKind::kAlien)).get(), EAGAIN);
  FillRequest push = request(4, FrameKind::kNative);
  EXPECT_FALSE(filler_->submit(push));
  EXPECT_TRUE(push.origin.valid());
  EXPECT_EQ(rooms_, 0);
  release_worker();
  EXPECT_EQ(first.get(), 0);
  EXPECT_EQ(second.get(), 0);
  EXPECT_EQ(submit(std::move(push)).get(), 0);
  EXPECT_EQ(filler_->dropped(), 1u);
  filler_->stop();
  EXPECT_GE(rooms_, 1);
}

TEST_F(FillerTest, AQueueThatIsFullLeavesRoomForAnotherDataset) {
  std::string other = directory() + "/other";
  write_file(other + "/g1", "x");
  add_dataset(other, "g{seq}");
  start(4);
  for (FrameSeq seq = 1; seq <= 4; ++seq) write_file(origin("f" + std::to_string(seq)), "x");
  occupy_worker();
  std::vector<std::future<int>> queued;
  for (FrameSeq seq = 1; seq <= 3; ++seq) {
    queued.push_back(submit(request(seq, FrameKind::kAlien)));
  }
  EXPECT_EQ(submit(request(4, FrameKind::kAlien)).get(), EAGAIN);
  FillRequest elsewhere;
  elsewhere.dataset = 1;
  elsewhere.seq = 1;
  elsewhere.origin = UniqueFd(::open((other + "/g1").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(submit(std::move(elsewhere)).get(), 0);
  release_worker();
  for (std::future<int>& answer : queued) EXPECT_EQ(answer.get(), 0);
}

TEST_F(FillerTest, AlienWithoutRoomIsNotCachedAndNativeEvicts) {
  config_.capacity_bytes = 4;
  start(64);
  for (FrameSeq seq = 1; seq <= 3; ++seq) write_file(origin("f" + std::to_string(seq)), "xyz");
  EXPECT_EQ(fill(1), 0);
  Amount held;
  ASSERT_EQ(store_->pin(0, {1, 1}, true, &held), 0);
  EXPECT_EQ(fill(2), ENOSPC);
  EXPECT_TRUE(exists(copy("f1")));
  ASSERT_EQ(store_->pin(0, {1, 1}, false, &held), 0);
  EXPECT_EQ(fill(2, FrameKind::kNative), 0);
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(fill(3, FrameKind::kNative), ENOSPC);
  EXPECT_EQ(store_->usage().evictions, 1u);
}

TEST_F(FillerTest, StopAnswersWhatIsQueued) {
  write_file(origin("f1"), "one");
  occupy_worker();
  std::future<int> queued = submit(request(1, FrameKind::kNative));
  std::thread stopping([this] { filler_->stop(); });
  // stop() has set its mark once new requests are refused.
  while (submit(request(1, FrameKind::kNative)).wait_for(std::chrono::milliseconds(1)) !=
         std::future_status::ready) {
  }
  release_worker();
  stopping.join();
  EXPECT_EQ(queued.get(), ECANCELED);
  EXPECT_FALSE(exists(copy("f1")));
}

TEST_F(FillerTest, AFetchedCopyOfAFrameThatChangedLatelyIsYoung) {
  write_file(origin("f1"), "just written");
  EXPECT_EQ(fill(1), 0);
  EXPECT_EQ(doubts_, kYoung);

  write_file(origin("f2"), "written long ago");
  const timespec long_ago[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, origin("f2").c_str(), long_ago, 0), 0);
  EXPECT_EQ(fill(2), 0);
  write_file(origin("f3"), "whole by the word of who pushes it");
  EXPECT_EQ(fill(3, FrameKind::kNative), 0);
  std::optional<Trust::Due> due = trust_.due(0, kYoung, monotonic_ms() + kYoungMs);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->frames, std::vector<FrameSeq>{1});
}

TEST_F(FillerTest, ManyFramesByManyThreads) {
  filler_.reset();
  filler_ = std::make_unique<LocalFiller>(
      config_, *store_, trust_, 4096, [] {}, 4);
  constexpr FrameSeq kFrames = 300;
  for (FrameSeq seq = 0; seq < kFrames; ++seq) {
    write_file(origin("f" + std::to_string(seq)), "frame " + std::to_string(seq));
  }
  std::vector<std::future<int>> answers;
  for (FrameSeq seq = 0; seq < kFrames; ++seq) {
    answers.push_back(submit(request(seq, FrameKind::kNative)));
  }
  for (std::future<int>& answer : answers) EXPECT_EQ(answer.get(), 0);
  EXPECT_EQ(native_log().size(), kFrames);
  for (FrameSeq seq = 0; seq < kFrames; ++seq) {
    ASSERT_EQ(read_file(copy("f" + std::to_string(seq))), "frame " + std::to_string(seq));
  }
}

// A tool that brings frames waits then, and does not say that the cache is full.
TEST_F(FillerTest, UntilTheStoreIsReconciledItIsNotKnownToBeFull) {
  for (FrameSeq seq : {1, 2}) write_file(origin("f" + std::to_string(seq)), "content");
  config_.capacity_bytes = 10;
  EXPECT_EQ(fill(1), 0);
  filler_.reset();
  store_.reset();  // not a clean stop
  Result<CacheDisk> disk = CacheDisk::open(cache());
  ASSERT_TRUE(disk.ok());
  Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
  ASSERT_TRUE(store.ok());
  store_ = std::move(*store);
  filler_ = std::make_unique<LocalFiller>(
      config_, *store_, trust_, 64, [] {}, 1);
  FillRequest later = request(2, FrameKind::kAlien);
  later.is_idle = true;
  EXPECT_EQ(submit(std::move(later)).get(), EAGAIN);
  store_->reconcile(0);
  later = request(2, FrameKind::kAlien);
  later.is_idle = true;
  EXPECT_EQ(submit(std::move(later)).get(), ENOSPC);
}

}  // namespace
}  // namespace zazen
