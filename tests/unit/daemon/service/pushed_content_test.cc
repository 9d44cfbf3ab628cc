// Pushes of content that the origin may not have yet, on a real store. Such a native is held,
// and has no name until the origin has the frame. It replaces an earlier copy of the frame.
#include <sys/mman.h>

#include <future>

#include "daemon/origin/adoption.h"
#include "daemon/validation/sample.h"
#include "tests/unit/daemon/local_cache.h"
#include "tests/unit/daemon/scratch.h"

namespace zazen {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;

class PushedContentTest : public Scratch {
 protected:
  void SetUp() override { start(); }

  void start() {
    filler_.reset();
    store_.reset();
    Result<CacheDisk> disk = CacheDisk::open(cache());
    ASSERT_TRUE(disk.ok());
    Result<std::unique_ptr<Store>> store = Store::open(config_, std::move(*disk));
    ASSERT_TRUE(store.ok()) << store.error().context;
    store_ = std::move(*store);
    store_->reconcile(0);
    filler_ = std::make_unique<LocalFiller>(config_, *store_, trust_, 64);
  }

  int submit(FillRequest request) {
    std::promise<int> answer;
    request.done = [&](int status) { answer.set_value(status); };
    EXPECT_TRUE(filler_->submit(request));
    return answer.get_future().get();
  }
  int push(FrameSeq seq, const std::string& content, int seals = kSeals) {
    FillRequest request;
    request.seq = seq;
    request.kind = FrameKind::kNative;
    request.is_content = true;
    request.origin = UniqueFd(::memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(request.origin.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    EXPECT_EQ(::fcntl(request.origin.get(), F_ADD_SEALS, seals), 0);
    return submit(std::move(request));
  }
  int fill(FrameSeq seq, FrameKind kind = FrameKind::kAlien) {
    FillRequest request;
    request.seq = seq;
    request.kind = kind;
    request.origin = open_origin("f" + std::to_string(seq));
    return submit(std::move(request));
  }
  // The writer of the origin's frame has closed it.
  void let_age(FrameSeq seq) {
    const timespec times[] = {{0, UTIME_OMIT}, {::time(nullptr) - kYoungMs / 1000 - 1, 0}};
    std::string path = origin("f" + std::to_string(seq));
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  static ino_t inode(const std::string& path) {
    struct stat st = {};
    EXPECT_EQ(::stat(path.c_str(), &st), 0);
    return st.st_ino;
  }
  std::string waiting(FrameSeq seq) {
    return copy() + "/.zazen/waiting/" + std::to_string(seq);
  }
  bool waits(FrameSeq seq) {
    bool waits = store_->is_waiting(0, seq);
    EXPECT_EQ(waits, exists(waiting(seq)));
    EXPECT_FALSE(waits && exists(copy("f" + std::to_string(seq))));
    return waits;
  }
  // The copy is served, as what the origin has.
  void expect_adopted(FrameSeq seq, const std::string& content) {
    std::string name = "f" + std::to_string(seq);
    EXPECT_FALSE(waits(seq));
    EXPECT_EQ(read_file(copy(name)), content);
    OriginIdentity identity = {};
    struct stat st = {};
    ASSERT_EQ(store_->read_copy_identity(0, seq, &identity), 0);
    ASSERT_EQ(::stat(origin(name).c_str(), &st), 0);
    EXPECT_TRUE(same_file(identity, st));
    EXPECT_EQ(store_->find(0, seq)->kind, FrameKind::kNative);
    ASSERT_EQ(::stat(copy(name).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, kCopyMode);
  }

  std::unique_ptr<Store> store_;
  Trust trust_{[](std::uint32_t, std::uint32_t) {}};
  std::unique_ptr<LocalFiller> filler_;
};

TEST_F(PushedContentTest, WaitsForTheOriginAndIsAdoptedByTheFirstOpen) {
  ASSERT_EQ(push(7, "hello"), 0);
  EXPECT_TRUE(waits(7));
  EXPECT_EQ(native_log(), Frames{7});
  EXPECT_EQ(store_->usage().bytes, 5u);
  write_file(origin("f7"), "hello");
  ino_t before = inode(waiting(7));
  ASSERT_EQ(fill(7), 0);
  expect_adopted(7, "hello");
  EXPECT_EQ(inode(copy("f7")), before);  // not copied again
  EXPECT_EQ(alien_log(), Frames{});
  EXPECT_EQ(store_->usage().files, 1u);
}

TEST_F(PushedContentTest, IsAdoptedAtOnceIfTheOriginHasIt) {
  write_file(origin("f7"), "hello");
  ASSERT_EQ(push(7, "hello"), 0);
  expect_adopted(7, "hello");
}

// The first was read while its origin was changed where no page is compared.
TEST_F(PushedContentTest, APushThatComesLaterIsBelievedRatherThanTheOneBefore) {
  std::string now(64 << 20, 'n'), torn = now;
  torn[(5 << 20) + 7] = 'o';
  write_file(origin("f7"), now);
  ASSERT_EQ(push(7, torn), 0);
  ASSERT_EQ(push(7, now), 0);
  EXPECT_TRUE(read_file(copy("f7")) == now);
}

TEST_F(PushedContentTest, AnotherFrameAtTheOriginIsFetchedInItsPlace) {
  for (const char* other : {"hello, world", "jello"}) {  // by size, by content
    ASSERT_EQ(push(7, "hello"), 0);
    write_file(origin("f7"), other);
    let_age(7);
    ASSERT_EQ(fill(7), 0);
    EXPECT_FALSE(waits(7));
    EXPECT_EQ(read_file(copy("f7")), other);
    EXPECT_EQ(native_log(), Frames{});
    EXPECT_EQ(alien_log(), Frames{7});
    const FrameSeq seq = 7;
    store_->drop(0, std::span(&seq, 1));
    ASSERT_EQ(::unlink(origin("f7").c_str()), 0);
  }
}

// On another machine, so that nobody here can see the writer.
TEST_F(PushedContentTest, WaitsWhileTheOriginIsStillGrowing) {
  ASSERT_EQ(push(7, "hello"), 0);
  write_file(origin("f7"), "hel");
  EXPECT_EQ(fill(7), EBUSY);
  EXPECT_TRUE(waits(7));
  EXPECT_EQ(alien_log(), Frames{});
  write_file(origin("f7"), "hello");
  EXPECT_EQ(fill(7), 0);
  expect_adopted(7, "hello");
}

TEST_F(PushedContentTest, OneThatDiffersFromTheOriginWaits) {
  write_file(origin("f7"), "jello");
  ASSERT_EQ(push(7, "hello"), 0);
  EXPECT_TRUE(waits(7));
}

TEST_F(PushedContentTest, FrameThatIsBeingWrittenIsNotAdopted) {
  ASSERT_EQ(push(7, "hello"), 0);
  write_file(origin("f7"), "hello");
  {
    UniqueFd writer(::open(origin("f7").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(fill(7), EBUSY);
    EXPECT_TRUE(waits(7));
  }
  EXPECT_EQ(fill(7), 0);
  expect_adopted(7, "hello");
}

TEST_F(PushedContentTest, PushedTwiceIsKeptOnceAndTheNewerContentReplacesTheOlder) {
  ASSERT_EQ(push(7, "hello"), 0);
  ino_t before = inode(waiting(7));
  ASSERT_EQ(push(7, "hello"), 0);
  EXPECT_EQ(inode(waiting(7)), before);
  ASSERT_EQ(push(7, "hello again"), 0);
  EXPECT_EQ(read_file(waiting(7)), "hello again");
  EXPECT_EQ(store_->usage().bytes, 11u);

  write_file(origin("f7"), "hello again");
  ASSERT_EQ(push(7, "hello again"), 0);
  expect_adopted(7, "hello again");
  // The origin says which of two is the frame.
  ASSERT_EQ(push(7, "something else"), 0);
  expect_adopted(7, "hello again");
  // Without it, the newer one.
  ASSERT_EQ(::unlink(origin("f7").c_str()), 0);
  ASSERT_EQ(push(7, "something else"), 0);
  EXPECT_TRUE(waits(7));
  EXPECT_EQ(read_file(waiting(7)), "something else");
  EXPECT_EQ(store_->usage().files, 1u);
  EXPECT_EQ(native_log(), Frames{7});
}

TEST_F(PushedContentTest, AlienBecomesANative) {
  write_file(origin("f7"), "hello");
  ASSERT_EQ(fill(7), 0);
  ino_t before = inode(copy("f7"));
  ASSERT_EQ(push(7, "hello"), 0);
  expect_adopted(7, "hello");
  EXPECT_EQ(inode(copy("f7")), before);
  EXPECT_EQ(native_log(), Frames{7});
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(PushedContentTest, SurvivesARestart) {
  ASSERT_EQ(push(7, "hello"), 0);
  start();  // as after a crash
  EXPECT_TRUE(waits(7));
  EXPECT_EQ(store_->usage().bytes, 5u);
  EXPECT_EQ(store_->usage().datasets[0].natives, 1u);
  filler_->stop();
  store_->stop_cleanly();
  start();
  EXPECT_TRUE(store_->stopped_cleanly());
  EXPECT_TRUE(waits(7));
  write_file(origin("f7"), "hello");
  ASSERT_EQ(fill(7), 0);
  expect_adopted(7, "hello");
  start();
  expect_adopted(7, "hello");
}

TEST_F(PushedContentTest, AtBothPlacesAfterACrashTheOneUnderItsNameStays) {
  write_file(origin("f7"), "hello");
  ASSERT_EQ(push(7, "hello"), 0);
  write_file(waiting(7), "other");
  start();
  expect_adopted(7, "hello");
}

TEST_F(PushedContentTest, SampleFindsThatTheOriginHasIt) {
  ASSERT_EQ(push(7, "hello"), 0);
  ASSERT_EQ(push(8, "world"), 0);
  write_file(origin("f7"), "hello");
  SampleResult result = compare_sample(*store_, 0, compare_here(config_));
  EXPECT_EQ(result.arrived, Frames{7});
  EXPECT_TRUE(result.stale.empty());
}

TEST_F(PushedContentTest, CanBeEvicted) {
  ASSERT_EQ(push(7, "hello"), 0);
  Store::Evicted gone = store_->evict(
      0, {.first = 0, .last = 9, .natives = true, .aliens = true, .dry_run = false});
  EXPECT_EQ(gone.gone.frames, 1u);
  EXPECT_FALSE(waits(7));
  EXPECT_EQ(native_log(), Frames{});
}

TEST_F(PushedContentTest, MemoryThatMayChangeIsRefused) {
  EXPECT_EQ(push(7, "hello", F_SEAL_GROW), EINVAL);
  EXPECT_FALSE(store_->find(0, 7));
}

}  // namespace
}  // namespace zazen
