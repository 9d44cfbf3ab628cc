// The store on a real directory: what is published is whole and logged, and whatever a crash
// left behind, files and logs agree after the next start. Long, for each case is a few lines of
// one fixture.
#include "daemon/store/store.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "tests/unit/daemon/scratch.h"

namespace {

// As the kernel does: a write that failed is told once to each open file.
std::mutex sync_mutex;
std::vector<int> syncs;
bool write_has_failed = false;
std::vector<ino_t> failed_files;  // each is told of it once
std::vector<ino_t> flushed;       // files and directories, by fsync

std::size_t count_syncs() {
  std::lock_guard lock(sync_mutex);
  return syncs.size();
}
void forget_syncs(bool failed) {
  std::lock_guard lock(sync_mutex);
  syncs.clear();
  write_has_failed = failed;
}

}  // namespace

extern "C" int syncfs(int fd) {
  {
    std::lock_guard lock(sync_mutex);
    const bool told = std::ranges::count(syncs, fd) != 0;
    syncs.push_back(fd);
    if (write_has_failed && !told) {
      errno = EIO;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_syncfs, fd));
}

extern "C" int fsync(int fd) {
  struct stat file = {};
  std::lock_guard lock(sync_mutex);
  if (::fstat(fd, &file) == 0) flushed.push_back(file.st_ino);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags) {
  struct stat file = {};
  std::lock_guard lock(sync_mutex);
  if (::fstat(fd, &file) == 0 && std::erase(failed_files, file.st_ino) > 0) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_sync_file_range, fd, offset, size, flags));
}

namespace zazen {
namespace {

class StoreTest : public Scratch {
 protected:
  void open_store(
      CacheDisk::Temporaries temporaries = CacheDisk::Temporaries::kUnnamedIfPossible) {
    store_.reset();
    Result<CacheDisk> disk = CacheDisk::open(cache(), temporaries);
    ASSERT_TRUE(disk.ok()) << disk.error().context;
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok()) << store.error().context;
    store_ = std::move(*store);
    for (std::uint32_t i = 0; i < store_->datasets(); ++i) store_->reconcile(i);
    ASSERT_TRUE(store_->is_reconciled());
  }

  FinishedCopy finished(FrameSeq seq, const std::string& content,
                        FrameKind kind = FrameKind::kAlien) {
    FinishedCopy copy;
    copy.seq = seq;
    copy.kind = kind;
    copy.bytes = content.size();
    copy.reservation = store_->reserve(0, kind, content.size());
    copy.file = store_->make_temporary(0);
    EXPECT_EQ(::pwrite(copy.file.fd(), content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    OriginIdentity identity = {};
    identity.version = kIdentityVersion;
    identity.kind = kind;
    identity.size = content.size();
    EXPECT_EQ(write_identity(copy.file.fd(), identity), 0);
    EXPECT_EQ(::fchmod(copy.file.fd(), kCopyMode), 0);
    return copy;
  }
  int publish(FrameSeq seq, const std::string& content, FrameKind kind = FrameKind::kAlien) {
    FinishedCopy copy = finished(seq, content, kind);
    store_->name_copies(std::span(&copy, 1));
    store_->confirm_copies(std::span(&copy, 1));
    return copy.status;
  }
  std::uint64_t files() const { return store_->usage().files; }
  int push_as(uid_t owner, FrameSeq seq, const std::string& content) {
    FinishedCopy copy = finished(seq, content, FrameKind::kNative);
    copy.reservation = Reservation();
    copy.reservation =
        store_->reserve(0, FrameKind::kNative, content.size(), Wanted::kNow, owner);
    if (!copy.reservation.valid()) return copy.reservation.refusal();
    copy.owner = owner;
    OriginIdentity identity = {};
    EXPECT_EQ(::fchmod(copy.file.fd(), kCopyMode | S_IWUSR), 0);
    EXPECT_EQ(read_identity(copy.file.fd(), &identity), 0);
    identity.uid = owner;
    identity.ino = 1;
    EXPECT_EQ(write_identity(copy.file.fd(), identity), 0);
    EXPECT_EQ(::fchmod(copy.file.fd(), kCopyMode), 0);
    store_->name_copies(std::span(&copy, 1));
    store_->confirm_copies(std::span(&copy, 1));
    return copy.status;
  }

  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, CopyThatIsNoLongerCurrentLosesItsName) {
  open_store();
  FinishedCopy copy = finished(7, "hello");
  store_->name_copies(std::span(&copy, 1));
  EXPECT_TRUE(std::filesystem::exists(this->copy("f7")));
  copy.status = ESTALE;
  store_->confirm_copies(std::span(&copy, 1));
  EXPECT_EQ(copy.status, ESTALE);
  EXPECT_FALSE(std::filesystem::exists(this->copy("f7")));
  EXPECT_FALSE(store_->find(0, 7));
  EXPECT_EQ(alien_log(), Frames{});
}

// A flush takes milliseconds, also where nothing has changed.
TEST_F(StoreTest, AStartAfterACleanStopFlushesTheRemovalOfTheMarkOnly) {
  open_store();
  ASSERT_EQ(publish(1, "hello"), 0);
  store_->stop_cleanly();
  {
    std::lock_guard lock(sync_mutex);
    flushed.clear();
  }
  open_store();
  EXPECT_TRUE(store_->stopped_cleanly());
  std::lock_guard lock(sync_mutex);
  EXPECT_EQ(flushed.size(), 1u);
}

TEST_F(StoreTest, CopiesCanBeDroppedWhileTheOriginIsAsked) {
  open_store();
  ASSERT_EQ(publish(6, "other"), 0);
  std::vector<FinishedCopy> batch;
  for (FrameSeq seq : {7, 8, 9}) batch.push_back(finished(seq, "hello"));
  store_->name_copies(batch);
  for (FrameSeq seq : {6, 7, 8}) store_->drop(0, std::span(&seq, 1));
  store_->confirm_copies(batch);
  EXPECT_EQ(batch[0].status, ECANCELED);
  EXPECT_EQ(batch[1].status, ECANCELED);
  EXPECT_EQ(batch[2].status, 0);
  EXPECT_EQ(alien_log(), Frames{9});
  EXPECT_EQ(files(), 1u);
  EXPECT_FALSE(exists(copy("f7")));
}

TEST_F(StoreTest, PublishedCopyIsNamedLoggedAndFound) {
  open_store();
  ASSERT_EQ(publish(7, "hello", FrameKind::kNative), 0);
  EXPECT_EQ(read_file(copy("f7")), "hello");
  struct stat st = {};
  ASSERT_EQ(::stat(copy("f7").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, kCopyMode);
  EXPECT_EQ(native_log(), Frames{7});
  EXPECT_EQ(alien_log(), Frames{});
  ASSERT_TRUE(store_->find(0, 7));
  EXPECT_EQ(store_->find(0, 7)->bytes, 5u);
}

TEST_F(StoreTest, LargeBatchIsPublishedWhole) {
  open_store();
  std::vector<FinishedCopy> batch;
  for (FrameSeq seq = 0; seq < 3 * Store::kSmallBatch; ++seq) {
    batch.push_back(finished(seq, std::to_string(seq)));
  }
  store_->name_copies(batch);
  store_->confirm_copies(batch);
  for (const FinishedCopy& one : batch) {
    EXPECT_EQ(one.status, 0);
    EXPECT_EQ(read_file(copy("f" + std::to_string(one.seq))), std::to_string(one.seq));
  }
  EXPECT_EQ(alien_log().size(), batch.size());
}

TEST_F(StoreTest, UnpublishedCopyLeavesNothing) {
  for (auto temporaries :
       {CacheDisk::Temporaries::kUnnamedIfPossible, CacheDisk::Temporaries::kNamed}) {
    open_store(temporaries);
    { FinishedCopy dropped = finished(1, "x"); }
    EXPECT_FALSE(exists(copy("f1")));
    EXPECT_TRUE(std::filesystem::is_empty(cache() + "/.zazen/tmp"));
  }
}

TEST_F(StoreTest, CancelledCopyIsNotPublished) {
  open_store();
  FinishedCopy copy_of_1 = finished(1, "x");
  copy_of_1.cancelled = std::make_shared<std::atomic<bool>>(true);
  store_->name_copies(std::span(&copy_of_1, 1));
  store_->confirm_copies(std::span(&copy_of_1, 1));
  EXPECT_EQ(copy_of_1.status, ECANCELED);
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(StoreTest, NamedTemporariesServeWhereUnnamedOnesAreMissing) {
  open_store(CacheDisk::Temporaries::kNamed);
  ASSERT_EQ(publish(1, "one"), 0);
  ASSERT_EQ(publish(1, "one again"), 0);
  EXPECT_EQ(read_file(copy("f1")), "one again");
  EXPECT_TRUE(std::filesystem::is_empty(cache() + "/.zazen/tmp"));
  write_file(cache() + "/.zazen/tmp/left-by-a-crash", "half");
  open_store(CacheDisk::Temporaries::kNamed);
  EXPECT_TRUE(std::filesystem::is_empty(cache() + "/.zazen/tmp"));
  EXPECT_EQ(files(), 1u);
}

TEST_F(StoreTest, ReopenedStoreHoldsTheSame) {
  open_store();
  ASSERT_EQ(publish(1, "a", FrameKind::kNative), 0);
  ASSERT_EQ(publish(2, "bb"), 0);
  open_store();
  EXPECT_EQ(store_->usage().bytes, 3u);
  EXPECT_EQ(store_->find(0, 1)->kind, FrameKind::kNative);
  EXPECT_EQ(store_->find(0, 2)->kind, FrameKind::kAlien);
}

TEST_F(StoreTest, LogEntryWithoutFileIsForgotten) {
  open_store();
  ASSERT_EQ(publish(1, "a", FrameKind::kNative), 0);
  ASSERT_EQ(publish(2, "b"), 0);
  std::filesystem::remove(copy("f1"));
  std::filesystem::remove(copy("f2"));
  open_store();
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(native_log(), Frames{});
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(StoreTest, WholeFileWithoutLogEntryIsAdoptedByItsAttribute) {
  open_store();
  ASSERT_EQ(publish(1, "a", FrameKind::kNative), 0);
  ASSERT_EQ(publish(2, "b"), 0);
  store_.reset();
  std::filesystem::remove(copy(kNativeLog));
  std::filesystem::remove(copy(kAlienLog));
  open_store();
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(alien_log(), Frames{2});
}

TEST_F(StoreTest, FileThatIsNoWholeCopyIsRemovedAndOthersAreLeftAlone) {
  open_store();
  ASSERT_EQ(publish(1, "abc"), 0);
  store_.reset();
  std::filesystem::remove(copy(kAlienLog));
  ASSERT_EQ(::chmod(copy("f1").c_str(), 0600), 0);  // a lost write looks like this
  ASSERT_EQ(::truncate(copy("f1").c_str(), 2), 0);
  ASSERT_EQ(::chmod(copy("f1").c_str(), kCopyMode), 0);
  write_file(copy("f2"), "planted");
  write_file(copy("notes.txt"), "mine");
  std::filesystem::create_directory(copy("f3"));
  open_store();
  EXPECT_EQ(files(), 0u);
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_FALSE(exists(copy("f2")));
  EXPECT_TRUE(exists(copy("notes.txt")));
  EXPECT_TRUE(exists(copy("f3")));
}

TEST_F(StoreTest, LoggedNameOfAPlantedFileIsNotBelieved) {
  open_store();
  ASSERT_EQ(publish(1, "abc"), 0);
  std::filesystem::remove(copy("f1"));
  write_file(copy("f1"), "planted");
  open_store();
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(StoreTest, FrameInBothLogsIsWhatItsAttributeSays) {
  open_store();
  ASSERT_EQ(publish(1, "a", FrameKind::kNative), 0);
  ASSERT_EQ(publish(2, "b", FrameKind::kAlien), 0);
  store_.reset();
  UniqueFd directory(::open(copy().c_str(), O_RDONLY | O_DIRECTORY));
  const FrameSeq both[] = {1, 2};
  for (const char* name : {kNativeLog, kAlienLog}) {
    Result<SequenceLog> log = SequenceLog::open(directory.get(), name);
    ASSERT_TRUE(log.ok() && log->append(both, {}).ok());
  }
  open_store();
  EXPECT_EQ(store_->find(0, 1)->kind, FrameKind::kNative);
  EXPECT_EQ(store_->find(0, 2)->kind, FrameKind::kAlien);
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(alien_log(), Frames{2});
}

TEST_F(StoreTest, PromotedAlienIsANativeInLogAttributeAndMemory) {
  open_store();
  ASSERT_EQ(publish(1, "a"), 0);
  ASSERT_EQ(store_->promote(0, 1), 0);
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(alien_log(), Frames{});
  EXPECT_EQ(store_->find(0, 1)->kind, FrameKind::kNative);
  OriginIdentity identity = {};
  ASSERT_EQ(store_->read_copy_identity(0, 1, &identity), 0);
  EXPECT_EQ(identity.kind, FrameKind::kNative);
  struct stat st = {};
  ASSERT_EQ(::stat(copy("f1").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, kCopyMode);
}

TEST_F(StoreTest, NativePublishedOverAnAlienReplacesIt) {
  open_store();
  ASSERT_EQ(publish(1, "old"), 0);
  ASSERT_EQ(publish(1, "newer", FrameKind::kNative), 0);
  EXPECT_EQ(read_file(copy("f1")), "newer");
  EXPECT_EQ(alien_log(), Frames{});
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(store_->usage().bytes, 5u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(StoreTest, DroppedCopyIsGoneFromDiskLogAndMemory) {
  open_store();
  ASSERT_EQ(publish(1, "a", FrameKind::kNative), 0);
  const FrameSeq frames[] = {1, 2};
  Amount gone = store_->drop(0, frames);
  EXPECT_EQ(gone.frames, 1u);
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(native_log(), Frames{});
  EXPECT_EQ(files(), 0u);
}

TEST_F(StoreTest, EvictTakesARangeOfTheKindsAskedFor) {
  open_store();
  for (FrameSeq seq = 0; seq < 10; ++seq) {
    FrameKind kind = seq % 2 == 0 ? FrameKind::kNative : FrameKind::kAlien;
    ASSERT_EQ(publish(seq, "xy", kind), 0);
  }
  Amount planned = store_->evict(0, {2, 7, true, true, true}).gone;
  EXPECT_EQ(planned.frames, 6u);
  EXPECT_EQ(planned.bytes, 12u);
  EXPECT_EQ(files(), 10u);
  Amount gone = store_->evict(0, {2, 7, false, true, false}).gone;
  EXPECT_EQ(gone.frames, 3u);
  EXPECT_EQ(alien_log(), (Frames{1, 9}));
  EXPECT_EQ(native_log().size(), 5u);
  EXPECT_EQ(store_->usage().evictions, 3u);
  EXPECT_FALSE(exists(copy("f3")));
  EXPECT_TRUE(exists(copy("f2")));
}

TEST_F(StoreTest, FramesInDirectoriesAndTheirEmptyDirectoriesGoTogether) {
  use_template("run1/{seq:03}/traj.dcd");
  open_store();
  ASSERT_EQ(publish(1, "a"), 0);
  ASSERT_EQ(publish(2, "b"), 0);
  EXPECT_EQ(read_file(copy("run1/001/traj.dcd")), "a");
  open_store();
  EXPECT_EQ(files(), 2u);
  const FrameSeq one[] = {1};
  store_->drop(0, one);
  EXPECT_FALSE(exists(copy("run1/001")));
  EXPECT_TRUE(exists(copy("run1/002/traj.dcd")));
  const FrameSeq two[] = {2};
  store_->drop(0, two);
  EXPECT_FALSE(exists(copy("run1")));
}

TEST_F(StoreTest, SymbolicLinkInTheCacheLeadsNowhere) {
  use_template("run1/{seq}");
  open_store();
  std::filesystem::create_directory(directory() + "/elsewhere");
  std::filesystem::create_symlink(directory() + "/elsewhere", copy("run1"));
  EXPECT_NE(publish(1, "a"), 0);
  write_file(directory() + "/elsewhere/2", "not ours");
  const FrameSeq two[] = {2};
  store_->drop(0, two);
  EXPECT_TRUE(exists(directory() + "/elsewhere/2"));
  EXPECT_FALSE(exists(directory() + "/elsewhere/1"));
}

TEST_F(StoreTest, AlienThatCannotFitIsRefusedAndEvictsNothing) {
  config_.capacity_bytes = 10;
  open_store();
  ASSERT_EQ(publish(1, "12345678"), 0);
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 11).valid());
  }
  EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, 2).valid());
  EXPECT_EQ(files(), 1u);
}

TEST_F(StoreTest, AlienOfAFullCacheIsLetInNowAndThenForAnother) {
  config_.capacity_bytes = 10;
  open_store();
  ASSERT_EQ(publish(1, "12345678"), 0);
  int tries = 0;
  while (!store_->reserve(0, FrameKind::kAlien, 3).valid() && tries < 10'000) {
    EXPECT_TRUE(exists(copy("f1")));
    ++tries;
  }
  EXPECT_FALSE(exists(copy("f1")));
  EXPECT_EQ(store_->usage().evictions, 1u);
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(StoreTest, IdleDatasetGivesWayAtOnce) {
  config_.capacity_bytes = 10;
  add_dataset(directory() + "/sim2", "f{seq}");
  open_store();
  ASSERT_EQ(publish(1, "12345678"), 0);
  const std::uint32_t first = 0, second = 1;
  store_->note_fills(1, std::span(&first, 1));
  store_->note_fills(Eviction::kIdleFills, std::span(&second, 1));
  EXPECT_TRUE(store_->reserve(1, FrameKind::kAlien, 3).valid());
  EXPECT_FALSE(exists(copy("f1")));
}

TEST_F(StoreTest, PinnedFramesStayWhateverTheNeed) {
  config_.capacity_bytes = 10;
  open_store();
  for (FrameSeq seq : {1, 2, 3}) ASSERT_EQ(publish(seq, "123"), 0);
  Amount held;
  ASSERT_EQ(store_->pin(0, {0, 2}, true, &held), 0);
  EXPECT_EQ(held.frames, 2u);
  EXPECT_EQ(held.bytes, 6u);
  EXPECT_FALSE(store_->reserve(0, FrameKind::kNative, 5).valid());
  EXPECT_EQ(files(), 3u);
  EXPECT_TRUE(store_->reserve(0, FrameKind::kNative, 4).valid());
  EXPECT_FALSE(exists(copy("f3")));
  for (int i = 0; i < 500; ++i) {
    EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 5).valid());
  }
  Store::Evicted evicted = store_->evict(0, {0, 9, true, true, false});
  EXPECT_EQ(evicted.gone.frames, 0u);
  EXPECT_EQ(evicted.pinned, 2u);
  EXPECT_EQ(files(), 2u);
}

TEST_F(StoreTest, PinsSurviveARestartAndCountWhatIsHeld) {
  open_store();
  ASSERT_EQ(publish(1, "a"), 0);
  Amount held;
  ASSERT_EQ(store_->pin(0, {1, 5}, true, &held), 0);
  open_store();
  EXPECT_EQ(store_->usage().datasets[0].pinned, 1u);
  ASSERT_EQ(publish(2, "b", FrameKind::kNative), 0);
  ASSERT_EQ(publish(2, "bb", FrameKind::kNative), 0);
  ASSERT_EQ(publish(7, "c"), 0);
  EXPECT_EQ(store_->usage().datasets[0].pinned, 2u);
  ASSERT_EQ(store_->promote(0, 1), 0);
  EXPECT_EQ(store_->usage().datasets[0].pinned, 2u);
  const FrameSeq changed[] = {1};
  store_->drop(0, changed);
  EXPECT_EQ(store_->usage().datasets[0].pinned, 1u);
  ASSERT_EQ(store_->pin(0, {0, 9}, false, &held), 0);
  EXPECT_EQ(held.frames, 2u);
  EXPECT_EQ(store_->usage().datasets[0].pinned, 0u);
  EXPECT_EQ(store_->evict(0, {0, 9, true, true, false}).gone.frames, 2u);
}

TEST_F(StoreTest, LastFrameThatIsNotPinnedIsFoundAmongMany) {
  config_.max_files = 300;
  open_store();
  for (FrameSeq seq = 0; seq < 300; ++seq) ASSERT_EQ(publish(seq, "x"), 0);
  Amount held;
  ASSERT_EQ(store_->pin(0, {0, 150}, true, &held), 0);
  ASSERT_EQ(store_->pin(0, {152, 299}, true, &held), 0);
  EXPECT_TRUE(store_->reserve(0, FrameKind::kNative, 1).valid());
  EXPECT_FALSE(exists(copy("f151")));
  EXPECT_EQ(files(), 299u);
}

TEST_F(StoreTest, DamagedPinsAreNoPins) {
  open_store();
  write_file(copy(".zazen/pins"), "1 x\n");
  open_store();
  EXPECT_TRUE(store_->usage().datasets[0].pins.empty());
}

TEST_F(StoreTest, ReservedRoomIsTakenUntilItIsReleased) {
  config_.capacity_bytes = 10;
  open_store();
  {
    Reservation first = store_->reserve(0, FrameKind::kAlien, 6);
    ASSERT_TRUE(first.valid());
    EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 6).valid());
  }
  EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, 6).valid());
}

TEST_F(StoreTest, PublishedCopyIsNotCountedTwice) {
  config_.capacity_bytes = 10;
  open_store();
  FinishedCopy copy_of_1 = finished(1, "123456");
  store_->name_copies(std::span(&copy_of_1, 1));
  store_->confirm_copies(std::span(&copy_of_1, 1));
  ASSERT_EQ(copy_of_1.status, 0);
  EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, 4).valid());
}

TEST_F(StoreTest, NativeEvictsAliensButNeverNatives) {
  config_.capacity_bytes = 10;
  open_store();
  ASSERT_EQ(publish(1, "1234", FrameKind::kNative), 0);
  ASSERT_EQ(publish(2, "123"), 0);
  ASSERT_EQ(publish(3, "123"), 0);
  EXPECT_FALSE(store_->reserve(0, FrameKind::kNative, 7).valid());
  EXPECT_EQ(files(), 3u) << "nothing is evicted for what will not fit anyhow";
  EXPECT_TRUE(store_->reserve(0, FrameKind::kNative, 3).valid());
  EXPECT_NE(exists(copy("f3")), exists(copy("f2")));
  EXPECT_TRUE(exists(copy("f1")));
  EXPECT_EQ(store_->usage().evictions, 1u);
}

TEST_F(StoreTest, NativesOfAnOwnerTakeTheirShareAndNoMore) {
  config_.capacity_bytes = 100;
  config_.native_share_percent = 40;
  open_store();
  const std::string twenty(20, 'x');
  EXPECT_EQ(push_as(1000, 1, twenty), 0);
  EXPECT_EQ(push_as(1000, 2, twenty), 0);
  EXPECT_EQ(push_as(1000, 3, "x"), EDQUOT);
  EXPECT_EQ(push_as(2000, 4, twenty), 0) << "another owner";
  Reservation under_way = store_->reserve(0, FrameKind::kNative, 20, Wanted::kNow, 2000);
  EXPECT_TRUE(under_way.valid());
  EXPECT_EQ(push_as(2000, 5, "x"), EDQUOT) << "what is under way counts";
  EXPECT_EQ(store_->assign(under_way, 0, 1000), EDQUOT);
  EXPECT_EQ(store_->assign(under_way, 0, 3000), 0);
  EXPECT_EQ(push_as(2000, 5, "x"), 0);
  under_way = Reservation();

  for (bool clean : {false, true}) {
    if (clean) store_->stop_cleanly();
    open_store();
    EXPECT_EQ(push_as(1000, 3, "x"), EDQUOT) << "after a restart, clean: " << clean;
    EXPECT_EQ(store_->owners(), (std::vector<uid_t>{1000, 2000}));
  }
  const FrameSeq gone = 1;
  store_->drop(0, std::span(&gone, 1));
  EXPECT_EQ(push_as(1000, 3, twenty), 0);
  config_.native_share_percent = 100;
  EXPECT_EQ(push_as(1000, 6, "x"), 0);
}

TEST_F(StoreTest, PromotedAlienCountsForTheShareOfItsOwner) {
  config_.capacity_bytes = 100;
  config_.native_share_bytes = 10;
  open_store();
  ASSERT_EQ(publish(1, "12345678901"), 0);
  EXPECT_EQ(store_->promote(0, 1), EDQUOT);
  EXPECT_EQ(store_->find(0, 1)->kind, FrameKind::kAlien);
  config_.native_share_bytes = 11;
  EXPECT_EQ(store_->promote(0, 1), 0);
}

TEST_F(StoreTest, OwnAliensGoFirstForANative) {
  config_.capacity_bytes = 100;
  add_dataset(directory() + "/sim2", "f{seq}");
  open_store();
  FinishedCopy others = finished(1, std::string(50, 'x'));
  others.owner = 1000;
  store_->name_copies(std::span(&others, 1));
  store_->confirm_copies(std::span(&others, 1));
  FinishedCopy own = finished(2, std::string(50, 'x'));
  own.owner = 2000;
  own.dataset = 1;
  store_->name_copies(std::span(&own, 1));
  store_->confirm_copies(std::span(&own, 1));
  const std::uint32_t second = 1;
  store_->note_fills(1, std::span(&second, 1));  // the other one was not used for longer
  EXPECT_TRUE(store_->reserve(0, FrameKind::kNative, 10, Wanted::kNow, 2000).valid());
  EXPECT_TRUE(store_->find(0, 1));
  EXPECT_FALSE(store_->find(1, 2));
}

TEST_F(StoreTest, DiskThatStaysFullCostsTheAliensAndFewSyncs) {
  open_store();
  for (FrameSeq seq = 0; seq < 7; ++seq) ASSERT_EQ(publish(seq, "hello"), 0);
  int tries = 0;
  auto always_full = [&] { return ++tries, EDQUOT; };
  EXPECT_EQ(store_->allocate(0, FrameKind::kNative, 5, Wanted::kNow, always_full), EDQUOT);
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(tries, 7);  // first, and before and after a sync for 1, 2 and 4 aliens
  EXPECT_EQ(store_->health().problem(), "");
}

TEST_F(StoreTest, RoomThatComesBackWithASyncCostsOneAlien) {
  open_store();
  for (FrameSeq seq = 0; seq < 7; ++seq) ASSERT_EQ(publish(seq, "hello"), 0);
  forget_syncs(false);
  auto until_synced = [] { return count_syncs() == 0 ? EDQUOT : 0; };
  EXPECT_EQ(store_->allocate(0, FrameKind::kNative, 5, Wanted::kNow, until_synced), 0);
  EXPECT_EQ(files(), 6u);
}

TEST_F(StoreTest, EvictReturnsWhenNoCrashBringsTheCopiesBack) {
  open_store();
  for (FrameSeq seq = 0; seq < 7; ++seq) ASSERT_EQ(publish(seq, "hello"), 0);
  forget_syncs(false);
  EXPECT_EQ(store_->evict(0, {0, 2, true, true, true}).gone.frames, 3u);
  EXPECT_EQ(count_syncs(), 0u) << "nothing went";
  Store::Evicted evicted = store_->evict(0, {0, 2, true, true, false});
  EXPECT_EQ(evicted.gone.frames, 3u);
  EXPECT_EQ(evicted.status, 0);
  EXPECT_EQ(count_syncs(), 1u);
  forget_syncs(true);
  EXPECT_EQ(store_->evict(0, {3, 4, true, true, false}).status, EIO);
}

// Otherwise a crash could put an old native back where it waited, without an identity that
// tells its age.
TEST_F(StoreTest, ACopyThatWaitedGoesForGood) {
  open_store();
  FinishedCopy pushed = finished(7, "hello", FrameKind::kNative);
  pushed.waits = true;
  store_->name_copies(std::span(&pushed, 1));
  store_->confirm_copies(std::span(&pushed, 1));
  ASSERT_EQ(pushed.status, 0);
  struct stat there = {}, waiting = {};
  write_file(origin("f7"), "hello");
  ASSERT_EQ(::stat(origin("f7").c_str(), &there), 0);
  ASSERT_EQ(store_->adopt(0, 7, store_->open_copy(0, 7), there, AccessList::nobody(), {}), 0);
  ASSERT_EQ(::unlink(copy("f7").c_str()), 0) << "as a program does that writes to the frame";
  {
    std::lock_guard lock(sync_mutex);
    flushed.clear();
  }
  const ExactCopy none{7};
  EXPECT_EQ(store_->drop_exactly(0, std::span(&none, 1), false).frames, 1u);
  ASSERT_EQ(::stat(copy(".zazen/waiting").c_str(), &waiting), 0);
  std::lock_guard lock(sync_mutex);
  EXPECT_TRUE(std::ranges::count(flushed, waiting.st_ino)) << "its move is not flushed";
}

TEST_F(StoreTest, RoomOfAliensThatWentForOthersIsWaitedForOnce) {
  config_.max_files = 7;
  open_store();
  for (FrameSeq seq = 0; seq < 7; ++seq) ASSERT_EQ(publish(seq, "hello"), 0);
  {
    std::vector<Reservation> others;
    for (int i = 0; i < 7; ++i) others.push_back(store_->reserve(0, FrameKind::kNative, 5));
  }
  ASSERT_EQ(files(), 0u);
  forget_syncs(false);
  auto until_synced = [] { return count_syncs() == 0 ? EDQUOT : 0; };
  EXPECT_EQ(store_->allocate(0, FrameKind::kNative, 5, Wanted::kNow, until_synced), 0);

  forget_syncs(false);
  auto always_full = [] { return EDQUOT; };
  EXPECT_EQ(store_->allocate(0, FrameKind::kNative, 5, Wanted::kNow, always_full), EDQUOT);
  EXPECT_EQ(count_syncs(), 0u) << "nothing has gone since the last";
}

TEST_F(StoreTest, NobodyGivesWayToAStoreThatIsStopped) {
  open_store();
  ASSERT_EQ(publish(1, "hello"), 0);
  store_->give_up_reconciling();
  auto always_full = [] { return ENOSPC; };
  EXPECT_EQ(store_->allocate(0, FrameKind::kNative, 5, Wanted::kNow, always_full), ENOSPC);
  EXPECT_EQ(files(), 1u);
}

TEST_F(StoreTest, FailedWriteIsHiddenFromNoBatch) {
  add_dataset(directory() + "/sim2", "f{seq}");
  open_store();
  for (FrameSeq seq = 100; seq < 120; ++seq) ASSERT_EQ(publish(seq, "hello"), 0);
  std::vector<FinishedCopy> batches[2];
  for (std::uint32_t dataset : {0, 1})
    for (FrameSeq seq = 0; seq < 12; ++seq) {
      batches[dataset].push_back(finished(seq, "hello"));
      batches[dataset].back().dataset = dataset;
    }
  forget_syncs(true);
  // Others that sync the disk: who has no room, and who drops copies.
  auto always_full = [] { return EDQUOT; };
  EXPECT_EQ(store_->allocate(0, FrameKind::kNative, 5, Wanted::kNow, always_full), EIO);
  std::vector<FrameSeq> some{100, 101, 102, 103, 104, 105, 106, 107, 108, 109};
  store_->drop(0, some);
  for (std::vector<FinishedCopy>& batch : batches) {
    store_->name_copies(batch);
    store_->confirm_copies(batch);
    for (const FinishedCopy& copy : batch) EXPECT_EQ(copy.status, EIO);
  }
  forget_syncs(false);
  EXPECT_FALSE(std::filesystem::exists(copy("f0")));
}

TEST_F(StoreTest, FailedWriteThatAnotherBatchWasToldOfIsNotForgotten) {
  open_store();
  std::vector<FinishedCopy> batches[2];
  for (FrameSeq seq = 0; seq < 24; ++seq) batches[seq / 12].push_back(finished(seq, "hello"));
  struct stat file = {};
  ASSERT_EQ(::fstat(batches[1][3].file.fd(), &file), 0);
  failed_files = {file.st_ino};
  forget_syncs(true);
  store_->name_copies(batches[0]);
  store_->confirm_copies(batches[0]);
  for (const FinishedCopy& copy : batches[0]) EXPECT_EQ(copy.status, EIO);
  store_->name_copies(batches[1]);
  store_->confirm_copies(batches[1]);
  for (const FinishedCopy& copy : batches[1]) EXPECT_EQ(copy.status, copy.seq == 15 ? EIO : 0);
  forget_syncs(false);
  EXPECT_FALSE(std::filesystem::exists(copy("f15")));
  EXPECT_TRUE(std::filesystem::exists(copy("f16")));
}

TEST_F(StoreTest, NumberOfFilesIsLimited) {
  config_.max_files = 1;
  open_store();
  {
    Reservation first = store_->reserve(0, FrameKind::kAlien, 1);
    EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 1).valid());
  }
  ASSERT_EQ(publish(1, "a"), 0);
  EXPECT_TRUE(store_->reserve(0, FrameKind::kNative, 1).valid());
  EXPECT_EQ(files(), 0u);
}

TEST_F(StoreTest, FreeSpaceIsKept) {
  config_.keep_free_bytes = std::uint64_t{1} << 62;
  open_store();
  EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 1).valid());
  EXPECT_FALSE(store_->reserve(0, FrameKind::kNative, 1).valid());
}

TEST_F(StoreTest, LoweredLimitIsKeptAtTheNextStart) {
  open_store();
  ASSERT_EQ(publish(1, "12345"), 0);
  ASSERT_EQ(publish(2, "12345"), 0);
  config_.capacity_bytes = 7;
  open_store();
  EXPECT_EQ(files(), 1u);
}

TEST_F(StoreTest, SampleHasTheFirstTheLastTheNewest) {
  open_store();
  for (FrameSeq seq : {5, 1, 9, 3, 7}) ASSERT_EQ(publish(seq, "x"), 0);
  EXPECT_EQ(store_->sample(0, 0), (Frames{1, 7, 9}));
  EXPECT_EQ(store_->sample(0, 64), (Frames{1, 3, 5, 7, 9}));
}

TEST_F(StoreTest, DatasetInTheStateDirectoryIsRefused) {
  config_.datasets.clear();
  add_dataset("/.zazen/tmp", "f{seq}");
  Result<CacheDisk> disk = CacheDisk::open(cache());
  ASSERT_TRUE(disk.ok());
  EXPECT_FALSE(Store::open(config_, std::move(*disk)).ok());
}

}  // namespace
}  // namespace zazen
