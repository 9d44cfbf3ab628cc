// How a store starts after a clean and an unclean stop, and what it believes before it has gone
// through its files.
#include <sys/statvfs.h>

#include <thread>

#include "daemon/store/store.h"
#include "daemon/worker/fills/frame_copy.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

class RestartTest : public Scratch {
 protected:
  void open_store() {
    store_.reset();
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok()) << disk.error().context;
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok()) << store.error().context;
    store_ = std::move(*store);
  }
  void stop_cleanly() {
    store_->stop_cleanly();
    store_.reset();
  }
  void stop_uncleanly() { store_.reset(); }
  void publish(FrameSeq seq, const std::string& content, FrameKind kind = FrameKind::kAlien) {
    FinishedCopy copy;
    copy.seq = seq;
    copy.kind = kind;
    copy.bytes = content.size();
    copy.reservation = store_->reserve(0, kind, content.size());
    ASSERT_TRUE(copy.reservation.valid());
    copy.file = store_->make_temporary(0);
    ASSERT_EQ(::pwrite(copy.file.fd(), content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    OriginIdentity identity = {};
    identity.version = kIdentityVersion;
    identity.kind = kind;
    identity.size = content.size();
    ASSERT_EQ(write_identity(copy.file.fd(), identity), 0);
    ASSERT_EQ(::fchmod(copy.file.fd(), kCopyMode), 0);
    store_->name_copies(std::span(&copy, 1));
    store_->confirm_copies(std::span(&copy, 1));
    ASSERT_EQ(copy.status, 0);
  }
  // Two natives and three aliens, 25 bytes.
  void fill_store() {
    open_store();
    for (FrameSeq seq = 1; seq <= 5; ++seq) {
      publish(seq, "12345", seq < 3 ? FrameKind::kNative : FrameKind::kAlien);
    }
  }
  void expect_full() {
    StoreUsage usage = store_->usage();
    EXPECT_EQ(usage.bytes, 25u);
    EXPECT_EQ(usage.datasets[0].natives, 2u);
    EXPECT_EQ(usage.datasets[0].aliens, 3u);
  }
  std::string state(const std::string& name) const { return copy(".zazen/" + name); }
  std::string mark() const { return cache() + "/.zazen/clean"; }
  std::uint64_t used_on_disk() const {
    struct statvfs fs = {};
    EXPECT_EQ(::statvfs(cache().c_str(), &fs), 0);
    return (fs.f_blocks - fs.f_bfree) * fs.f_frsize;
  }

  std::unique_ptr<Store> store_;
};

TEST_F(RestartTest, NewCacheHasNothingToReconcile) {
  open_store();
  EXPECT_TRUE(store_->stopped_cleanly());
  EXPECT_TRUE(store_->is_reconciled());
}

TEST_F(RestartTest, CompanionsThatNoPatternNamesAnyMoreGo) {
  use_also("*.pdb/x.gro/*.psf");
  open_store();
  publish(1, "12345");
  for (const char* name : {"top.pdb", "x.gro", "a.psf"}) publish(number_of(name), "12345");
  write_file(copy("y.gro"), "nobody's");
  write_file(copy("b.psf"), "not a copy");
  stop_cleanly();

  open_store();
  EXPECT_TRUE(store_->is_reconciled()) << "the same patterns";
  EXPECT_EQ(store_->usage().datasets[0].aliens, 4u);
  stop_cleanly();

  const FrameSeq before = number_of("top.pdb");
  use_also("y.gro/top.pdb");
  ASSERT_NE(number_of("top.pdb"), before);
  open_store();
  EXPECT_FALSE(exists(copy("x.gro")));
  EXPECT_FALSE(exists(copy("a.psf")));
  EXPECT_TRUE(exists(copy("b.psf")));
  store_->reconcile(0);
  EXPECT_EQ(store_->usage().bytes, 10u);
  EXPECT_EQ(alien_log(), (Frames{1, number_of("top.pdb")}));
  EXPECT_EQ(read_file(copy("top.pdb")), "12345");
  EXPECT_FALSE(exists(copy("y.gro"))) << "it has a companion's name, and is no copy";
  stop_cleanly();

  use_also("");
  open_store();
  store_->reconcile(0);
  EXPECT_EQ(alien_log(), Frames{1});
  EXPECT_FALSE(exists(copy("top.pdb")));
}

TEST_F(RestartTest, CleanStopIsBelievedWithoutALookAtFilesOrLogs) {
  fill_store();
  stop_cleanly();
  std::filesystem::remove(copy("f1"));
  open_store();
  EXPECT_TRUE(store_->stopped_cleanly());
  EXPECT_TRUE(store_->is_reconciled());
  expect_full();
  EXPECT_EQ(store_->sample(0, 0), (Frames{1, 5}));
}

TEST_F(RestartTest, MarkIsGoneAsSoonAsTheStoreIsOpen) {
  fill_store();
  EXPECT_FALSE(exists(mark()));
  stop_cleanly();
  EXPECT_TRUE(exists(mark()));
  open_store();
  EXPECT_FALSE(exists(mark()));
}

TEST_F(RestartTest, UncleanStopKnowsFramesAtOnceAndSizesWhenItIsReconciled) {
  fill_store();
  stop_uncleanly();
  open_store();
  EXPECT_FALSE(store_->stopped_cleanly());
  EXPECT_FALSE(store_->is_reconciled());
  EXPECT_EQ(store_->usage().files, 5u);
  EXPECT_EQ(store_->find(0, 1)->kind, FrameKind::kNative);
  EXPECT_EQ(store_->list(0).size(), 5u);
  store_->reconcile(0);
  EXPECT_TRUE(store_->is_reconciled());
  EXPECT_FALSE(store_->stopped_cleanly()) << "what the start found does not change";
  expect_full();
}

TEST_F(RestartTest, UncleanStopAfterACleanOneIsUnclean) {
  fill_store();
  stop_cleanly();
  open_store();
  publish(9, "123456789");
  stop_uncleanly();
  open_store();
  EXPECT_FALSE(store_->stopped_cleanly());
  EXPECT_TRUE(store_->find(0, 9));
}

TEST_F(RestartTest, StopBeforeItWasReconciledIsNotClean) {
  fill_store();
  stop_uncleanly();
  write_file(copy("f77"), "planted");
  open_store();
  stop_cleanly();
  open_store();
  EXPECT_FALSE(store_->stopped_cleanly());
  EXPECT_FALSE(store_->is_reconciled());
  store_->reconcile(0);
  expect_full();
  EXPECT_FALSE(exists(copy("f77")));
  stop_cleanly();
  open_store();
  EXPECT_TRUE(store_->stopped_cleanly());
}

TEST_F(RestartTest, WhatIsNotAsItWasLeftIsNotBelieved) {
  const std::vector<std::string> files = {mark(), state("native.table"), state("alien.table"),
                                          state("native.seq"), state("alien.seq")};
  for (const std::string& file : files) {
    for (std::string damage : {"gone", "cut", "longer", "garbled"}) {
      if (damage == "garbled" && file.ends_with(".seq")) continue;  // resumed by its size alone
      std::filesystem::remove_all(cache());
      std::filesystem::create_directory(cache());
      fill_store();
      stop_cleanly();
      std::string content = read_file(file);
      if (damage == "cut") content.pop_back();
      if (damage == "longer") content += content;
      if (damage == "garbled") content[content.size() / 2] ^= 1;
      std::filesystem::remove(file);
      if (damage != "gone") write_file(file, content);
      open_store();
      EXPECT_FALSE(store_->stopped_cleanly()) << file << " " << damage;
      store_->reconcile(0);
      expect_full();
      EXPECT_EQ(native_log(), (Frames{1, 2})) << file << " " << damage;
      EXPECT_EQ(alien_log(), (Frames{3, 4, 5})) << file << " " << damage;
    }
  }
}

TEST_F(RestartTest, FilesRemovedAfterACleanStopAreForgotten) {
  fill_store();
  stop_cleanly();
  std::filesystem::remove(copy("f2"));
  std::filesystem::remove(copy("f4"));
  open_store();
  store_->reconcile(0);
  EXPECT_EQ(store_->usage().bytes, 15u);
  EXPECT_EQ(native_log(), Frames{1});
  EXPECT_EQ(alien_log(), (Frames{3, 5}));
}

TEST_F(RestartTest, FilesAddedAfterACleanStopGo) {
  fill_store();
  stop_cleanly();
  write_file(copy("f77"), "planted");
  ASSERT_EQ(::mkfifo(copy("f78").c_str(), 0600), 0);
  open_store();
  store_->reconcile(0);
  EXPECT_FALSE(exists(copy("f77")));
  EXPECT_FALSE(exists(copy("f78")));
  expect_full();
}

TEST_F(RestartTest, LogsOfAWipedDatasetAreForgotten) {
  open_store();
  for (FrameSeq seq = 0; seq < 300; ++seq) publish(seq, "x");
  stop_uncleanly();
  for (FrameSeq seq = 0; seq < 300; ++seq) {
    std::filesystem::remove(copy("f" + std::to_string(seq)));
  }
  open_store();
  store_->reconcile(0);
  EXPECT_TRUE(store_->is_reconciled());
  EXPECT_EQ(store_->usage().files, 0u);
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(RestartTest, ChangesWhileItIsNotReconciledAreKept) {
  fill_store();
  stop_uncleanly();
  open_store();
  publish(4, "new content");
  publish(8, "another");
  const FrameSeq gone[] = {5};
  EXPECT_EQ(store_->drop(0, gone).frames, 1u);
  ASSERT_EQ(store_->promote(0, 3), 0);
  store_->reconcile(0);
  EXPECT_EQ(store_->usage().bytes, 5u + 5 + 5 + 11 + 7);
  EXPECT_EQ(native_log(), (Frames{1, 2, 3}));
  EXPECT_EQ(alien_log(), (Frames{4, 8}));
}

TEST_F(RestartTest, DoubtOutlivesACleanStop) {
  fill_store();
  store_->stop_cleanly(false);
  store_.reset();
  open_store();
  EXPECT_FALSE(store_->stopped_cleanly());
  store_->reconcile(0);
  stop_cleanly();
  open_store();
  EXPECT_TRUE(store_->stopped_cleanly());
}

TEST_F(RestartTest, CapacityHoldsBeforeTheSizesAreKnown) {
  fill_store();
  stop_uncleanly();
  config_.capacity_bytes = 30;  // 5 bytes are left, but who knows
  open_store();
  EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 1).valid());
  EXPECT_EQ(store_->reserve(0, FrameKind::kAlien, 1).refusal(), EAGAIN);
  store_->reconcile(0);
  EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, 5).valid());
  EXPECT_FALSE(store_->reserve(0, FrameKind::kAlien, 31).valid());
  EXPECT_EQ(store_->reserve(0, FrameKind::kAlien, 31).refusal(), ENOSPC);
  EXPECT_EQ(store_->reserve(0, FrameKind::kNative, 31).refusal(), ENOSPC);
}

TEST_F(RestartTest, FillsGoOnWhereTheWholeDiskProvesThatThereIsRoom) {
  fill_store();
  stop_uncleanly();
  config_.capacity_bytes = used_on_disk() + (std::uint64_t{1} << 40);
  open_store();
  EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, 5).valid());
}

TEST_F(RestartTest, NativeThatNeedsRoomWaitsUntilTheSizesAreKnown) {
  fill_store();
  stop_uncleanly();
  config_.capacity_bytes = 26;
  open_store();
  bool fits = false;
  std::thread push([&] { fits = store_->reserve(0, FrameKind::kNative, 5).valid(); });
  store_->reconcile(0);
  push.join();
  EXPECT_TRUE(fits);
  EXPECT_EQ(store_->usage().bytes, 20u) << "one alien was evicted for it";
}

TEST_F(RestartTest, NobodyWaitsForAReconciliationThatIsGivenUp) {
  fill_store();
  stop_uncleanly();
  config_.capacity_bytes = 26;
  open_store();
  int answer = 0;  // not ENOSPC, for which a writer would count the node as full
  std::thread push([&] { answer = store_->reserve(0, FrameKind::kNative, 5).refusal(); });
  store_->give_up_reconciling();
  push.join();
  EXPECT_EQ(answer, EAGAIN);
  store_->reconcile(0);
  EXPECT_FALSE(store_->is_reconciled());
}

TEST_F(RestartTest, ReconciliationThatFailedCanBeTriedAgain) {
  use_template("run/f{seq}");
  fill_store();
  stop_uncleanly();
  open_store();
  std::filesystem::rename(copy("run"), copy("away"));
  write_file(copy("run"), "no directory");
  store_->reconcile(0);
  EXPECT_FALSE(store_->is_reconciled());
  EXPECT_EQ(store_->not_reconciled(), std::set<std::uint32_t>{0});
  config_.capacity_bytes = 26;
  EXPECT_EQ(store_->reserve(0, FrameKind::kNative, 5).refusal(), EIO);
  config_.capacity_bytes = 0;

  std::filesystem::remove(copy("run"));
  std::filesystem::rename(copy("away"), copy("run"));
  store_->reconcile(0);
  EXPECT_TRUE(store_->is_reconciled());
  EXPECT_TRUE(store_->not_reconciled().empty());
  expect_full();
}

TEST_F(RestartTest, AdoptedAlienMayBeYoung) {
  fill_store();
  stop_uncleanly();
  std::filesystem::remove(state("alien.seq"));
  open_store();
  EXPECT_TRUE(store_->fetched_lately().empty());
  Frames young = store_->reconcile(0);
  std::sort(young.begin(), young.end());
  EXPECT_EQ(young, (Frames{3, 4, 5}));
}

TEST_F(RestartTest, AliensFetchedLatelyAreFoundAfterACleanStop) {
  fill_store();
  const FrameSeq gone[] = {4};
  store_->drop(0, gone);
  ASSERT_EQ(store_->promote(0, 5), 0);
  stop_cleanly();
  open_store();
  using Young = std::vector<std::pair<std::uint32_t, FrameSeq>>;
  EXPECT_EQ(store_->fetched_lately(), (Young{{0, 3}}));
}

TEST_F(RestartTest, DatasetThatWasNotConfiguredMeanwhileIsNotBelieved) {
  fill_store();
  stop_cleanly();
  DatasetList<DatasetConfig> datasets = config_.datasets;
  config_.datasets.clear();
  add_dataset("/elsewhere", "f{seq}");
  open_store();
  EXPECT_TRUE(store_->stopped_cleanly());
  stop_cleanly();
  config_.datasets = datasets;
  open_store();
  EXPECT_FALSE(store_->stopped_cleanly());
  store_->reconcile(0);
  expect_full();
}

}  // namespace
}  // namespace zazen
