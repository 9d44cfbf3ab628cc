// Fills of a worker that sends invalid messages: the store stays consistent, and whatever
// it held back is there for others when it is gone.
#include <fcntl.h>
#include <signal.h>

#include <atomic>
#include <optional>
#include <thread>

#include "daemon/disk/copy_seal.h"
#include "daemon/service/store_cache.h"
#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

constexpr StoreCache::WorkerId kWorker = 1, kOther = 2;
constexpr std::uint64_t kCapacity = 1 << 20;

class HostileFillsTest : public FilledStore {
 protected:
  void SetUp() override {
    config_.capacity_bytes = kCapacity;
    open_store();
    store_->reconcile(0);
    write_file(origin("f7"), "content");
    cache_ = std::make_unique<StoreCache>(*store_, trust_, checks_);
  }
  void TearDown() override { cache_.reset(); }

  BeginFill offer(FrameKind kind = FrameKind::kAlien) const {
    BeginFill offer;
    offer.dataset = 0;
    offer.seq = 7;
    offer.kind = kind;
    EXPECT_EQ(::stat(origin("f7").c_str(), &offer.origin.st), 0);
    return offer;
  }
  BeginFill content_offer() const {
    BeginFill content = offer(FrameKind::kNative);
    content.is_content = true;
    return content;
  }
  // -1: not answered yet.
  int begin(const BeginFill& offer, BeginFill::Reply* reply = nullptr,
            std::uint64_t worker = kWorker) {
    auto status = std::make_shared<int>(-1);
    auto begun = std::make_shared<BeginFill::Reply>();
    cache_->begin_fill(worker, offer, [=](int code, BeginFill::Reply made) {
      *status = code;
      *begun = std::move(made);
    });
    if (reply != nullptr) *reply = std::move(*begun);
    return *status;
  }
  static void write(BeginFill::Reply& begun) {
    EXPECT_EQ(::pwrite(begun.file.get(), "content", 7, 0), 7);
    begun.file.reset();
  }
  FinishFill finish_of(std::uint64_t ticket) const {
    FinishFill finish;
    finish.ticket = ticket;
    finish.after = offer().origin.st;
    return finish;
  }
  template <class Ask>
  static int answer_to(Ask ask) {
    std::promise<int> status;
    ask([&](int code) { status.set_value(code); });
    return status.get_future().get();
  }
  int finish(const FinishFill& finish) {
    return answer_to([&](auto done) { cache_->finish_fill(kWorker, finish, done); });
  }
  int finish(const FinishContent& finish) {
    return answer_to([&](auto done) { cache_->finish_content(kWorker, finish, done); });
  }
  // Nothing of the workers is left, and another one can have all that there is.
  void expect_nothing_left() {
    cache_->worker_gone(kWorker);
    cache_->worker_gone(kOther);
    EXPECT_EQ(cache_->counts().under_way, 0u);
    const std::uint64_t rest = kCapacity - store_->usage().bytes;
    EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, rest).valid()) << "room is kept back";
    EXPECT_EQ(store_->usage().evictions, 0u);
    BeginFill::Reply begun;
    EXPECT_EQ(begin(offer(), &begun, kOther + 1), 0);
    if (begun.ticket == 0) return;  // the copy is there
    cache_->abandon_fill(kOther + 1, begun.ticket, 0);
  }

  Trust trust_{[](std::uint32_t, std::uint32_t) {}};
  NoOriginChecks checks_;
  std::unique_ptr<StoreCache> cache_;
};

// ---- Tickets

TEST_F(HostileFillsTest, ContentIsNotFinishedAsAFill) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(content_offer(), &begun), 0);
  EXPECT_EQ(finish(finish_of(begun.ticket)), EBADF);
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AFillIsNotFinishedAsContent) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  FinishContent content;
  content.ticket = begun.ticket;
  EXPECT_EQ(finish(content), EBADF);
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AFillIsNotFinishedAsAPush) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  PushedFile push;
  push.ticket = begun.ticket;
  ReceivedContent pushed;
  EXPECT_EQ(cache_->finish_push(kWorker, 0, push, &pushed), EBADF);
  expect_nothing_left();
}

TEST_F(HostileFillsTest, APushIsFinishedInTheDatasetThatItWasBegunFor) {
  BeginPushes::Reply begun;
  ASSERT_EQ(cache_->begin_pushes(kWorker, {0, 7, 1}, &begun), 0);
  ASSERT_EQ(::pwrite(begun.files[0].get(), "content", 7, 0), 7);
  begun.files.clear();
  ReceivedContent pushed;
  EXPECT_EQ(cache_->finish_push(kWorker, 1, {begun.tickets[0], 7, 7, 0}, &pushed), EBADF);
  pushed = {};
  expect_nothing_left();
}

TEST_F(HostileFillsTest, ThereIsNoFileForContentOfAnImpossibleSize) {
  for (std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    BeginPushes::Reply begun;
    EXPECT_EQ(cache_->begin_pushes(kWorker, {0, bytes, 1}, &begun), EINVAL);
    EXPECT_TRUE(begun.files.empty());
  }
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AnAskGivesNoMoreFilesThanGoIntoAPacket) {
  BeginPushes::Reply begun, more;
  EXPECT_EQ(cache_->begin_pushes(kWorker, {0, 7, BeginPushes::kMost + 1}, &more), EINVAL);
  EXPECT_TRUE(more.files.empty());
  ASSERT_EQ(cache_->begin_pushes(kWorker, {0, 7, BeginPushes::kMost}, &begun), 0);
  EXPECT_EQ(begun.files.size(), BeginPushes::kMost);
  EXPECT_EQ(begun.tickets.size(), BeginPushes::kMost);
  cache_->worker_gone(kWorker);
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AWorkerThatIsGoneBeginsNothingMore) {
  BeginFill waits = offer();
  waits.waits = true;
  ASSERT_EQ(begin(offer()), 0);
  ASSERT_EQ(begin(waits), -1) << "for its own other copy";
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AWorkerThatIsGoneIsNotWaitedFor) {
  BeginFill waits = offer();
  waits.waits = true;
  ASSERT_EQ(begin(offer()), 0);
  begin(waits, nullptr, kOther);
  cache_->worker_gone(kOther);
  expect_nothing_left();
}

// The numbers are easy to guess.
TEST_F(HostileFillsTest, ATicketIsNamedBeforeItIsGiven) {
  constexpr std::uint64_t kTickets = 300;
  std::atomic<std::uint64_t> next = 1;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (next <= kTickets) {
        const std::uint64_t ticket = next;
        if (i == 0) (void)cache_->more_room(kWorker, ticket, 1);
        if (i == 1) cache_->abandon_fill(kWorker, ticket, 0);
        if (i == 2) finish(finish_of(ticket));
      }
    });
  }
  for (; next <= kTickets; ++next) {
    BeginFill::Reply begun;
    if (begin(offer(), &begun) == 0) (void)cache_->more_room(kWorker, begun.ticket, 1);
  }
  threads.clear();
  expect_nothing_left();
}

TEST_F(HostileFillsTest, RoomIsAskedForWhileTheFillIsFinished) {
  constexpr FrameSeq kFrame = 7;
  for (int i = 0; i < 60; ++i) {
    BeginFill::Reply begun;
    ASSERT_EQ(begin(offer(), &begun), 0);
    const std::uint64_t ticket = begun.ticket;
    write(begun);
    std::atomic<bool> is_there = false;
    std::jthread more([&] {
      is_there = true;
      // On a busy machine it might never be free for the other one.
      for (int j = 0; j < 100 && cache_->more_room(kWorker, ticket, 1) != EBADF; ++j) continue;
    });
    while (!is_there) continue;
    // While it is busy with the other one it cannot be finished.
    while (finish(finish_of(ticket)) == EBADF && !store_->find(0, kFrame)) continue;
    more.join();
    store_->drop(0, std::span(&kFrame, 1));
  }
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AFrameIsNotPublishedAfterACancelWhoeverCopiesIt) {
  BeginFill waits = offer();
  waits.waits = true;
  BeginFill::Reply first, second;
  ASSERT_EQ(begin(offer(), &first), 0);
  begin(waits, &second, kOther);  // it need not wait for the first one
  cache_->cancel(0, 7);
  write(first);
  EXPECT_EQ(finish(finish_of(first.ticket)), ECANCELED);
  EXPECT_FALSE(exists(copy("f7")));
  second.file.reset();
  expect_nothing_left();
}

// ---- Facts

TEST_F(HostileFillsTest, ContentIsANative) {
  BeginFill content = content_offer();
  content.kind = FrameKind::kAlien;
  EXPECT_EQ(begin(content), EINVAL);
  expect_nothing_left();
}

// In nanoseconds it must fit in 64 bits, and the copy gets it.
TEST_F(HostileFillsTest, AFrameHasATimeThatThereIs) {
  constexpr timespec kNever[] = {{std::numeric_limits<time_t>::max(), 0},
                                 {std::numeric_limits<time_t>::min(), 0},
                                 {1, -1},
                                 {1, 1'000'000'000},
                                 {1, UTIME_NOW},
                                 {1, UTIME_OMIT}};
  for (const timespec& time : kNever) {
    for (timespec stat::*field : {&stat::st_atim, &stat::st_mtim, &stat::st_ctim}) {
      BeginFill never = offer();
      never.origin.st.*field = time;
      EXPECT_EQ(begin(never), EINVAL) << time.tv_sec << " " << time.tv_nsec;
      cache_->worker_gone(kWorker);
    }
  }
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AFrameIsAFileAlsoWhenItWasCopied) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  write(begun);
  FinishFill directory = finish_of(begun.ticket);
  directory.after.st_mode = S_IFDIR | 0755;
  EXPECT_EQ(finish(directory), EINVAL);
  EXPECT_FALSE(exists(copy("f7")));
  expect_nothing_left();
}

TEST_F(HostileFillsTest, ContentHasTheSizeThatTheOriginHas) {
  for (bool is_there : {false, true}) {
    BeginFill::Reply begun;
    ASSERT_EQ(begin(content_offer(), &begun), 0);
    write(begun);
    FinishContent content;
    content.ticket = begun.ticket;
    content.bytes = 7;
    content.look.status = 0;
    content.look.is_there = is_there;
    content.look.origin.st = offer().origin.st;
    content.look.origin.st.st_size = 1'000'000;
    EXPECT_NE(finish(content), 0);
    EXPECT_FALSE(exists(copy("f7")));
  }
  expect_nothing_left();
}

TEST_F(HostileFillsTest, AnOriginThatIsNoFileIsNotAdopted) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(content_offer(), &begun), 0);
  write(begun);
  FinishContent content;
  content.ticket = begun.ticket;
  content.bytes = 7;
  ASSERT_EQ(finish(content), 0);
  ASSERT_TRUE(store_->is_waiting(0, 7));
  OriginFacts facts;
  facts.st = offer().origin.st;
  facts.st.st_mode = S_IFDIR | 0755;
  EXPECT_NE(cache_->adopt_known(kWorker, 0, 7, facts), 0);
  EXPECT_TRUE(store_->is_waiting(0, 7));
}

TEST_F(HostileFillsTest, ACopyIsNotRenewedForAFileOfAnotherSize) {
  BeginFill::Reply begun;
  BeginFill old = offer();
  old.origin.st.st_mtim.tv_sec -= 3600;
  old.origin.st.st_ctim.tv_sec -= 3600;
  ASSERT_EQ(begin(old, &begun), 0);
  write(begun);
  FinishFill finish_old = finish_of(begun.ticket);
  finish_old.after = old.origin.st;
  ASSERT_EQ(finish(finish_old), 0);
  ASSERT_EQ(store_->suspend(0, 7), 0);
  struct stat longer = old.origin.st;
  longer.st_size = 1'000'000;
  EXPECT_NE(store_->renew(0, 7, store_->epoch(0, 7), store_->open_copy(0, 7), longer,
                          AccessList::nobody()),
            0);
}

// ---- The file

// The worker has the capability, and the open file description of zazend.
TEST_F(HostileFillsTest, ALeaseOfTheWorkerDelaysNobody) {
  auto* before = ::signal(SIGIO, SIG_IGN);
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  EXPECT_EQ(::pwrite(begun.file.get(), "content", 7, 0), 7);
  ASSERT_EQ(::fcntl(begun.file.get(), F_SETLEASE, F_WRLCK), 0);
  begun.file.reset();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(finish(finish_of(begun.ticket)), EBUSY);
  // An open that waits does so for /proc/sys/fs/lease-break-time: 45 seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  expect_nothing_left();
  ::signal(SIGIO, before);
}

// ---- Directories

class HostileRightsTest : public HostileFillsTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root serves all users";
    config_.all_users = true;
    use_template("a/b/c/d/e/g/h/i/j/k/l/m{seq}/n/o/p/q/r/s/t/u/v/w/x/y/z/f");
    open_store();
    store_->reconcile(0);
  }
  RightsAtOrigin rights_with(std::size_t directories) const {
    RightsAtOrigin rights;
    rights.directories.resize(directories);
    for (ReachedDirectory& one : rights.directories) one.searchers = AccessList::everybody();
    rights.frame_directory = FrameDirectory{1, 2, 3, 0, 0};
    return rights;
  }
};

TEST_F(HostileRightsTest, RightsOfTooFewDirectoriesAreNotMirrored) {
  for (std::size_t count : {0, 1, 3, 1'000}) {
    RightsAtOrigin rights = rights_with(count);
    rights.directories.shrink_to_fit();
    store_->mirror_own_rights(0, store_->begin_look(0), rights);
    EXPECT_FALSE(store_->is_mirrored(0, rights.directories)) << count;
  }
}

TEST_F(HostileRightsTest, AFrameThatWasFoundThroughTooFewDirectoriesGetsNoName) {
  const std::string frame_directory = origin() + "/a/b/c/d/e/g/h/i/j/k/l";
  const RightsAtOrigin own =
      rights_with(static_cast<std::size_t>(std::ranges::count(frame_directory, '/')));
  store_->mirror_own_rights(0, store_->begin_look(0), own);
  ASSERT_TRUE(store_->is_mirrored(0, own.directories));
  FinishedCopy copy;
  copy.seq = 1;
  copy.file = store_->make_temporary(0);
  copy.reached = own.directories;  // and none of those below
  copy.reached.shrink_to_fit();
  struct stat st = {};
  st.st_mode = S_IFREG | 0644;
  st.st_ino = 1;
  ASSERT_EQ(seal_copy(copy.file.fd(), identity_of(st, copy.kind, 0), st.st_atim, st.st_mtim),
            0);
  store_->name_copies(std::span(&copy, 1));
  store_->confirm_copies(std::span(&copy, 1));
  EXPECT_NE(copy.status, 0);
}

// ---- Companions

TEST_F(HostileFillsTest, NumbersThatSpellNoNameGetNone) {
  cache_.reset();
  store_.reset();
  use_also("*.pdb/x*.pdb");
  open_store();
  store_->reconcile(0);
  cache_ = std::make_unique<StoreCache>(*store_, trust_, checks_);
  const FrameSeq of_pattern = kFirstCompanion / CompanionPatterns::kMost;
  const FrameSeq wrong[] = {
      kFirstCompanion + 66,             // a letter is missing
      ~FrameSeq{0},                     // no such pattern
      number_of("x.pdb") + of_pattern,  // the first pattern has that name
  };
  for (const FrameSeq seq : wrong) {
    BeginFill companion = offer();
    companion.seq = seq;
    BeginFill::Reply begun;
    ASSERT_EQ(begin(companion, &begun), 0);
    write(begun);
    EXPECT_EQ(finish(finish_of(begun.ticket)), EINVAL) << seq;
  }
  EXPECT_EQ(alien_log(), Frames{});
  expect_nothing_left();
}

}  // namespace
}  // namespace zazen
