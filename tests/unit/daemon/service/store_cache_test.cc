// Copies from workers that are not trusted: the store checks what they say, and what they have
// is bounded.
#include "daemon/service/store_cache.h"

#include <fcntl.h>

#include <future>
#include <optional>
#include <thread>

#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

constexpr StoreCache::WorkerId kWorker = 1, kOther = 2, kListener = 3, kOwner = 4;

class StoreCacheTest : public FilledStore, public NoOriginChecks {
 protected:
  void SetUp() override {
    open_store();
    store_->reconcile(0);
    write_file(origin("f7"), "content");
    make_cache(StoreCache::kOthersWait);
  }
  void make_cache(std::chrono::milliseconds others_wait) {
    cache_ = std::make_unique<StoreCache>(*store_, trust_, *this, others_wait);
  }
  void verify(std::uint64_t worker, std::span<FinishedCopy> batch) override {
    const std::lock_guard wait(worker == kWorker ? is_silent_ : nobody_is_);
    if (worker == kWorker && !has_memory_) throw std::bad_alloc();
    for (FinishedCopy& copy : batch) copy.status = verdict_;
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
  int begin(const BeginFill& offer, BeginFill::Reply* reply, std::uint64_t worker = kWorker) {
    std::optional<int> status;
    cache_->begin_fill(worker, offer, [&](int code, BeginFill::Reply begun) {
      status = code;
      *reply = std::move(begun);
    });
    return status.value_or(-1);
  }
  static void write(BeginFill::Reply& begun, const std::string& content = "content") {
    EXPECT_EQ(::pwrite(begun.file.get(), content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
  }
  int finish(std::uint64_t ticket, std::uint64_t worker = kWorker) {
    FinishFill finish;
    finish.ticket = ticket;
    finish.room = 7;
    finish.after = offer().origin.st;
    std::promise<int> status;
    cache_->finish_fill(worker, finish, [&](int code) { status.set_value(code); });
    return status.get_future().get();
  }

  // As a writer pushes it over the network. -1: not answered yet.
  int push(const std::string& content, bool is_there) {
    BeginPushes::Reply begun;
    EXPECT_EQ(cache_->begin_pushes(kListener, {0, content.size(), 1}, &begun), 0);
    if (begun.files.empty()) return -1;
    EXPECT_EQ(::pwrite(begun.files[0].get(), content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    begun.files.clear();
    ReceivedContent pushed;
    const PushedFile written = {begun.tickets[0], 7, content.size(), 0};
    EXPECT_EQ(cache_->finish_push(kListener, 0, written, &pushed), 0);
    OriginLook look;
    look.is_there = is_there;
    look.status = is_there ? 0 : ENOENT;
    if (is_there) look.origin = offer().origin;
    auto answer = std::make_shared<std::promise<int>>();
    std::future<int> status = answer->get_future();
    cache_->take_received(kOwner, 0, 7, std::move(pushed), look,
                          [answer](int code) { answer->set_value(code); });
    const auto answered = status.wait_for(std::chrono::seconds(5));
    return answered == std::future_status::ready ? status.get() : -1;
  }
  // A fill of kWorker's that has its name, while that worker is silent.
  std::future<int> named_fill() {
    BeginFill::Reply begun;
    EXPECT_EQ(begin(offer(), &begun), 0);
    return named_fill(std::move(begun));
  }
  std::future<int> named_fill(BeginFill::Reply begun) {
    write(begun);
    struct stat own = {}, named = {};
    EXPECT_EQ(::fstat(begun.file.get(), &own), 0);
    begun.file.reset();
    std::future<int> outcome =
        std::async(std::launch::async, [this, begun = begun.ticket] { return finish(begun); });
    while (::stat(copy("f7").c_str(), &named) != 0 || named.st_ino != own.st_ino) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return outcome;
  }

  Trust trust_{[](std::uint32_t, std::uint32_t) {}};
  std::atomic<int> verdict_ = 0;         // of the last look at the origin
  std::atomic<bool> has_memory_ = true;  // of kWorker's commits, after their look
  std::mutex is_silent_;                 // while it is locked kWorker gives no verdict
  std::mutex nobody_is_;
  std::unique_ptr<StoreCache> cache_;
};

TEST_F(StoreCacheTest, AFillIsBegunWrittenClosedAndFinished) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  write(begun);
  begun.file.reset();
  EXPECT_EQ(finish(begun.ticket), 0);
  EXPECT_EQ(read_file(copy("f7")), "content");
  EXPECT_EQ(cache_->counts().fills, 1u);
  EXPECT_EQ(cache_->counts().under_way, 0u);
}

TEST_F(StoreCacheTest, AFileThatSomebodyCanStillWriteGetsNoName) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  write(begun);
  EXPECT_EQ(finish(begun.ticket), EBUSY);
  EXPECT_FALSE(exists(copy("f7")));
}

TEST_F(StoreCacheTest, ATicketIsOfOneWorkerAndGoodForOnce) {
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  write(begun);
  begun.file.reset();
  EXPECT_EQ(finish(begun.ticket, kOther), EBADF);
  EXPECT_EQ(cache_->more_room(kOther, begun.ticket, 1), EBADF);
  cache_->abandon_fill(kOther, begun.ticket, 0);
  EXPECT_EQ(finish(begun.ticket), 0);
  EXPECT_EQ(finish(begun.ticket), EBADF);
}

TEST_F(StoreCacheTest, AnErrorOfAnOriginIsNotTheDisks) {
  std::promise<void> out_of_use;
  store_->health().watch([&](bool) { out_of_use.set_value(); });
  BeginFill::Reply begun;
  ASSERT_EQ(begin(offer(), &begun), 0);
  cache_->abandon_fill(kWorker, begun.ticket, EIO);
  EXPECT_EQ(out_of_use.get_future().wait_for(std::chrono::milliseconds(200)),
            std::future_status::timeout);
  store_->health().stop();
}

TEST_F(StoreCacheTest, ContentOfAnotherSizeThanTheOriginIsRefused) {
  for (const char* content : {"cont", "content and more"}) {
    BeginFill::Reply begun;
    ASSERT_EQ(begin(offer(), &begun), 0);
    write(begun, content);
    begun.file.reset();
    EXPECT_EQ(finish(begun.ticket), EBADMSG);
    EXPECT_FALSE(exists(copy("f7")));
  }
}

TEST_F(StoreCacheTest, WhatIsNoFileOfAKnownKindIsRefused) {
  BeginFill::Reply begun;
  BeginFill directory = offer();
  directory.origin.st.st_mode = S_IFDIR | 0755;
  EXPECT_EQ(begin(directory, &begun), EINVAL);
  BeginFill negative = offer();
  negative.origin.st.st_size = -1;
  EXPECT_EQ(begin(negative, &begun), EINVAL);
  BeginFill kind = offer(FrameKind{77});
  EXPECT_EQ(begin(kind, &begun), EINVAL);
}

TEST_F(StoreCacheTest, ACancelledFillIsNotPublishedAndALaterOneIs) {
  BeginFill::Reply begun, later;
  ASSERT_EQ(begin(offer(), &begun), 0);
  write(begun);
  begun.file.reset();
  cache_->cancel(0, 7);
  ASSERT_EQ(begin(offer(FrameKind::kNative), &later), 0);
  EXPECT_EQ(finish(begun.ticket), ECANCELED);
  write(later);
  later.file.reset();
  EXPECT_EQ(finish(later.ticket), 0);
  EXPECT_EQ(native_log(), Frames{7});
  EXPECT_EQ(alien_log(), Frames{});
}

TEST_F(StoreCacheTest, AnotherRequestWaitsOrIsTold) {
  BeginFill::Reply begun, other;
  ASSERT_EQ(begin(offer(), &begun), 0);
  EXPECT_EQ(begin(offer(), &other, kOther), EALREADY);
  BeginFill waits = offer();
  waits.waits = true;
  std::promise<std::pair<int, std::uint64_t>> answer;
  cache_->begin_fill(kWorker, waits, [&](int code, BeginFill::Reply reply) {
    answer.set_value({code, reply.ticket});
  });
  write(begun);
  begun.file.reset();
  EXPECT_EQ(finish(begun.ticket), 0);
  EXPECT_EQ(answer.get_future().get(), (std::pair<int, std::uint64_t>(0, 0))) << "it is there";
}

// Each of them is stopped, and gives its ticket back when the next one has begun.
TEST_F(StoreCacheTest, AChainOfWorkersDoesNotKeepAFrameFromOthers) {
  constexpr std::chrono::seconds kWait(2);
  make_cache(kWait);
  BeginFill::Reply first, next, other;
  ASSERT_EQ(begin(offer(), &first, 10), 0);
  ASSERT_EQ(begin(offer(), &other, kOther), EALREADY);
  std::this_thread::sleep_for(kWait + std::chrono::milliseconds(100));
  cache_->abandon_fill(10, first.ticket, 0);
  ASSERT_EQ(begin(offer(), &next, 11), 0);
  ASSERT_EQ(begin(offer(), &other, kOther), 0) << "it has waited long enough";
  write(other);
  other.file.reset();
  EXPECT_EQ(finish(other.ticket, kOther), 0);
}

TEST_F(StoreCacheTest, AProgramDoesNotWaitForAnotherUsersWorker) {
  BeginFill::Reply begun, other;
  ASSERT_EQ(begin(offer(), &begun), 0);  // and that worker is stopped
  BeginFill waits = offer();
  waits.waits = true;
  ASSERT_EQ(begin(waits, &other, kOther), 0);
  write(other);
  other.file.reset();
  EXPECT_EQ(finish(other.ticket, kOther), 0);
  EXPECT_EQ(read_file(copy("f7")), "content");
  write(begun);
  begun.file.reset();
  EXPECT_EQ(finish(begun.ticket), 0);
  EXPECT_EQ(alien_log(), Frames{7});
}

TEST_F(StoreCacheTest, APushWaitsForNoWorker) {
  for (const bool is_there : {false, true}) {
    BeginFill::Reply begun;
    ASSERT_EQ(begin(offer(), &begun), 0);
    write(begun);
    begun.file.reset();
    EXPECT_EQ(push("content", is_there), 0);
    EXPECT_EQ(store_->is_waiting(0, 7), !is_there);
    EXPECT_EQ(finish(begun.ticket), ECANCELED) << "it would replace the native";
    ASSERT_TRUE(store_->find(0, 7));
    EXPECT_EQ(store_->find(0, 7)->kind, FrameKind::kNative);
    const FrameSeq seq = 7;
    store_->drop(0, std::span(&seq, 1));
  }
  EXPECT_EQ(cache_->counts().under_way, 0u);
}

TEST_F(StoreCacheTest, APushWaitsForNoFillThatIsCompared) {
  for (const bool is_there : {false, true}) {
    std::unique_lock silence(is_silent_);
    std::future<int> fill = named_fill();
    EXPECT_EQ(push("content", is_there), 0);
    silence.unlock();
    EXPECT_EQ(fill.get(), ECANCELED);
    EXPECT_EQ(store_->is_waiting(0, 7), !is_there);
    EXPECT_EQ(exists(copy("f7")), is_there);
    EXPECT_EQ(native_log(), Frames{7});
    EXPECT_EQ(alien_log(), Frames{});
    const FrameSeq seq = 7;
    store_->drop(0, std::span(&seq, 1));
  }
  EXPECT_EQ(cache_->counts().under_way, 0u);
}

// Its reservation is counted already.
TEST_F(StoreCacheTest, AReconciliationCountsNoFillThatIsCompared) {
  write_file(origin("f1"), "content");
  fill(1);
  config_.max_files = 3;
  std::unique_lock silence(is_silent_);
  std::future<int> compared = named_fill();
  store_->reconcile(0);
  EXPECT_FALSE(store_->find(0, 7));
  EXPECT_TRUE(store_->reserve(0, FrameKind::kAlien, 1).valid());
  EXPECT_EQ(store_->usage().evictions, 0u);
  silence.unlock();
  EXPECT_EQ(compared.get(), 0);
  EXPECT_EQ(alien_log(), (Frames{1, 7}));
  store_->reconcile(0);
  EXPECT_EQ(store_->usage().files, 2u);
}

// Another worker's fill of the frame is held already, so the push could believe it.
TEST_F(StoreCacheTest, APushPromotesNoFillThatIsCompared) {
  for (const int verdict : {0, ESTALE}) {
    BeginFill waits = offer();
    waits.waits = true;
    BeginFill::Reply begun, other;
    ASSERT_EQ(begin(waits, &begun), 0);
    ASSERT_EQ(begin(waits, &other, kOther), 0);
    write(other);
    other.file.reset();
    ASSERT_EQ(finish(other.ticket, kOther), 0);
    std::unique_lock silence(is_silent_);
    std::future<int> fill = named_fill(std::move(begun));
    EXPECT_EQ(push("content", true), 0);
    verdict_ = verdict;
    silence.unlock();
    EXPECT_NE(fill.get(), 0);
    verdict_ = 0;
    EXPECT_TRUE(exists(copy("f7")));
    EXPECT_EQ(native_log(), Frames{7});
    EXPECT_EQ(alien_log(), Frames{});
    const FrameSeq seq = 7;
    store_->drop(0, std::span(&seq, 1));
  }
}

TEST_F(StoreCacheTest, AFillWithoutMemoryDropsNoPush) {
  for (const bool is_there : {false, true}) {
    std::unique_lock silence(is_silent_);
    std::future<int> fill = named_fill();
    EXPECT_EQ(push("content", is_there), 0);
    has_memory_ = false;
    silence.unlock();
    EXPECT_EQ(fill.get(), ENOMEM);
    has_memory_ = true;
    EXPECT_EQ(store_->is_waiting(0, 7), !is_there);
    EXPECT_EQ(exists(copy("f7")), is_there);
    EXPECT_EQ(native_log(), Frames{7});
    const FrameSeq seq = 7;
    store_->drop(0, std::span(&seq, 1));
  }
  EXPECT_EQ(cache_->counts().under_way, 0u);
}

TEST_F(StoreCacheTest, APushWhoseAdoptionIsRefusedIsNotStored) {
  ASSERT_EQ(push("content", false), 0);
  verdict_ = ESTALE;
  EXPECT_EQ(push("content", true), ESTALE);
  EXPECT_FALSE(store_->find(0, 7));
  verdict_ = 0;
  ASSERT_EQ(push("content", false), 0);
  EXPECT_EQ(push("content", true), 0);
  EXPECT_FALSE(store_->is_waiting(0, 7));
  EXPECT_EQ(read_file(copy("f7")), "content");
}

TEST_F(StoreCacheTest, AWorkerThatEndsGivesItsTicketsBack) {
  BeginFill::Reply begun, other;
  ASSERT_EQ(begin(offer(), &begun), 0);
  cache_->worker_gone(kWorker);
  EXPECT_EQ(finish(begun.ticket), EBADF);
  EXPECT_EQ(cache_->counts().under_way, 0u);
  EXPECT_EQ(begin(offer(), &other, kOther), 0);
}

TEST_F(StoreCacheTest, AWorkerHasABoundedNumberOfTickets) {
  std::vector<BeginFill::Reply> begun(kMostTickets);
  BeginFill one = offer();
  for (FrameSeq seq = 0; seq < begun.size(); ++seq) {
    one.seq = seq;
    ASSERT_EQ(begin(one, &begun[seq]), 0);
    begun[seq].file.reset();
  }
  BeginFill::Reply more;
  one.seq = begun.size();
  EXPECT_EQ(begin(one, &more), EAGAIN);
  EXPECT_EQ(begin(one, &more, kOther), 0);
}

}  // namespace
}  // namespace zazen
