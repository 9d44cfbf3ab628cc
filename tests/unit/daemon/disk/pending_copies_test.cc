// Which frames programs see as pending in the table.
#include "daemon/disk/pending_copies.h"

#include "daemon/service/store_cache.h"
#include "tests/unit/daemon/filled_store.h"

namespace zazen {
namespace {

using Slots = std::array<std::atomic<std::uint64_t>, kPendingSlots>;
using Mark = PendingCopies::Mark;

TEST(PendingCopies, EachTableShowsThem) {
  PendingCopies pending;
  Slots old = {}, next = {};
  pending.show(old.data());
  auto now = [](const Slots& table, std::uint32_t dataset) {
    return pending_now(table[pending_slot(dataset, 7)]);
  };
  Mark one(pending, 0, 7), other(pending, 0, 7 + kPendingSlots);
  EXPECT_EQ(now(old, 0), 2u);
  EXPECT_EQ(now(old, 1), 0u);
  pending.show(next.data());
  EXPECT_EQ(now(next, 0), 2u);
  one.reset();
  Mark moved = std::move(other);
  EXPECT_EQ(now(old, 0), 1u);
  pending.hide(old.data());
  moved = Mark();
  EXPECT_EQ(now(old, 0), 1u);
  EXPECT_EQ(now(next, 0), 0u);
}

TEST(PendingCopies, ASlotTellsThatOneHasComeAndGone) {
  PendingCopies pending;
  Slots old = {}, next = {};
  pending.show(old.data());
  const std::uint64_t before = old[pending_slot(0, 7)];
  Mark(pending, 0, 7).reset();
  const std::uint64_t after = old[pending_slot(0, 7)];
  EXPECT_EQ(pending_now(after), 0u);
  EXPECT_NE(after, before);
  pending.show(next.data());
  EXPECT_EQ(next[pending_slot(0, 7)], after);
}

class PendingFramesTest : public FilledStore {
 protected:
  void SetUp() override {
    FilledStore::SetUp();
    store_->pending().show(table_.data());
  }
  std::uint32_t pending(FrameSeq seq) const {
    return pending_now(table_[pending_slot(0, seq)]);
  }

  Slots table_ = {};
};

TEST_F(PendingFramesTest, ASuspendedCopyIsPending) {
  std::this_thread::sleep_for(std::chrono::milliseconds(25));  // the tick of the last write
  ASSERT_EQ(store_->suspend(0, 2), 0);
  ASSERT_EQ(store_->suspend(0, 2), 0);
  EXPECT_EQ(pending(2), 1u);
  ASSERT_EQ(store_->restore(0, 2, store_->epoch(0, 2)), 0);
  EXPECT_EQ(pending(2), 0u);
  ASSERT_EQ(store_->suspend(0, 3), 0);
  const FrameSeq seq = 3;
  store_->drop(0, std::span(&seq, 1));
  EXPECT_EQ(pending(3), 0u);
}

TEST_F(PendingFramesTest, AFillIsPendingUntilItsCopyHasItsNameOrItIsGivenUp) {
  write_file(origin("f9"), "content");
  Trust trust([](std::uint32_t, std::uint32_t) {});
  struct Checks : NoOriginChecks {
    explicit Checks(std::function<void()> named) : when_named(std::move(named)) {}
    void verify(std::uint64_t, std::span<FinishedCopy>) override { when_named(); }
    std::function<void()> when_named;
  };
  std::uint32_t while_named = 0;
  Checks checks([&] {
    EXPECT_TRUE(exists(copy("f9")));
    while_named = pending(9);
  });
  StoreCache cache(*store_, trust, checks);
  BeginFill offer;
  offer.dataset = 0;
  offer.seq = 9;
  ASSERT_EQ(::stat(origin("f9").c_str(), &offer.origin.st), 0);
  BeginFill::Reply begun;
  auto begin = [&] {
    cache.begin_fill(1, offer, [&](int status, BeginFill::Reply reply) {
      EXPECT_EQ(status, 0);
      begun = std::move(reply);
    });
  };
  begin();
  EXPECT_EQ(pending(9), 1u);
  cache.abandon_fill(1, begun.ticket, EIO);
  EXPECT_EQ(pending(9), 0u);

  begin();
  cache.cancel(0, 9);
  EXPECT_EQ(pending(9), 1u);  // it may be on its way
  cache.worker_gone(1);
  EXPECT_EQ(pending(9), 0u);

  begin();
  ASSERT_EQ(::pwrite(begun.file.get(), "content", 7, 0), 7);
  begun.file.reset();
  FinishFill finish;
  finish.ticket = begun.ticket;
  finish.room = 7;
  finish.after = offer.origin.st;
  std::promise<int> status;
  cache.finish_fill(1, finish, [&](int code) { status.set_value(code); });
  EXPECT_EQ(status.get_future().get(), 0);
  EXPECT_EQ(while_named, 1u);
  EXPECT_EQ(pending(9), 0u);
}

// The file may have been begun for any frame: the push says which, before anybody looks at its
// origin.
TEST_F(PendingFramesTest, APushIsPendingOnceItIsWhole) {
  Trust trust([](std::uint32_t, std::uint32_t) {});
  NoOriginChecks checks;
  StoreCache cache(*store_, trust, checks);
  BeginPushes::Reply begun;
  ASSERT_EQ(cache.begin_pushes(1, {0, 7, 2}, &begun), 0);
  ASSERT_EQ(begun.tickets.size(), 2u);
  EXPECT_EQ(pending(0), 0u);
  ASSERT_EQ(::pwrite(begun.files[0].get(), "content", 7, 0), 7);
  begun.files.clear();
  ReceivedContent pushed;
  ASSERT_EQ(cache.finish_push(1, 0, {begun.tickets[0], 9, 7, 0}, &pushed), 0);
  EXPECT_EQ(pending(9), 1u);
  pushed = {};
  EXPECT_EQ(pending(9), 0u);
  cache.abandon_fill(1, begun.tickets[1], 0);
  EXPECT_EQ(cache.counts().under_way, 0u);
  EXPECT_EQ(cache.counts().failed, 0u) << "a file that was not needed is no failure";
}

}  // namespace
}  // namespace zazen
