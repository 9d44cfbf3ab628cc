#include "bodhi/writer/write_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace zazen {
namespace {

constexpr std::uint64_t kOverhead = WriteQueue::kFrameOverheadBytes;

QueuedFrame frame_of(FrameSeq seq, std::uint64_t size = 0) {
  QueuedFrame frame;
  frame.seq = seq;
  frame.size = size;
  return frame;
}

std::size_t add(WriteQueue& queue, FrameSeq seq, std::uint64_t size = 0) {
  EXPECT_TRUE(queue.reserve(size));
  return queue.add(frame_of(seq, size));
}

std::size_t take_all(WriteQueue& queue, std::size_t node) {
  std::size_t taken = 0;
  while (auto frame = queue.take(node)) {
    queue.finish(node, *frame);
    ++taken;
  }
  return taken;
}

TEST(WriteQueue, ConsecutiveFramesGoToDifferentNodesInTurn) {
  WriteQueue queue(3, 5, 1'000'000, false);
  std::size_t first = add(queue, 0);
  for (FrameSeq seq = 1; seq < 30; ++seq) EXPECT_EQ(add(queue, seq), (first + seq) % 3);
  for (std::size_t node = 0; node < 3; ++node) EXPECT_EQ(take_all(queue, node), 10u);
  EXPECT_EQ(queue.memory_bytes(), 0u);
}

TEST(WriteQueue, KnowsWhatItWillReadFromTheOrigin) {
  WriteQueue queue(1, 5, 1'000'000, false);
  QueuedFrame frame = frame_of(7);
  frame.place = FramePlace::kOrigin;
  EXPECT_FALSE(queue.will_read(0, 7));
  ASSERT_TRUE(queue.reserve(0));
  queue.add(std::move(frame));
  EXPECT_TRUE(queue.will_read(0, 7));
  EXPECT_FALSE(queue.will_read(0, 8));
  EXPECT_FALSE(queue.will_read(1, 7));
  std::optional<QueuedFrame> taken = queue.take(0);
  ASSERT_TRUE(taken);
  EXPECT_FALSE(queue.will_read(0, 7)) << "it is being read, perhaps too early";
  queue.finish(0, *taken);
}

TEST(WriteQueue, AFrameThatIsWrittenAgainGoesWhereItWent) {
  WriteQueue queue(3, 5, 1'000'000, false);
  std::size_t first = add(queue, 0);
  EXPECT_EQ(add(queue, 1), (first + 1) % 3);
  EXPECT_EQ(add(queue, 0), first);
  EXPECT_EQ(add(queue, 2), (first + 2) % 3) << "it was nobody's turn";
  queue.mark_dead(first);
  std::size_t second = add(queue, 0);
  EXPECT_NE(second, first);
  queue.mark_alive(first);
  EXPECT_EQ(add(queue, 0), second);
  QueuedFrame refused = frame_of(0);
  refused.refused_by = {second};
  ASSERT_TRUE(queue.reserve(0));
  EXPECT_NE(queue.add(std::move(refused)), second);
}

TEST(WriteQueue, WhereOldFramesWentIsForgotten) {
  WriteQueue queue(2, 5, 1'000'000'000, false);
  std::size_t first = add(queue, 0);
  for (FrameSeq seq = 1; seq < WriteQueue::kMostHomes; ++seq) add(queue, seq);
  EXPECT_EQ(add(queue, 0), first);
  add(queue, WriteQueue::kMostHomes);  // in the first one's place
  std::size_t next = add(queue, WriteQueue::kMostHomes + 1);
  EXPECT_EQ(add(queue, 0), 1 - next) << "in turn, as a new one";
}

TEST(WriteQueue, MemoryIsBoundedUntilAFrameIsFinished) {
  WriteQueue queue(1, 0, 2 * (1000 + kOverhead), false);
  add(queue, 0, 1000);
  add(queue, 1, 1000);
  EXPECT_FALSE(queue.reserve(0));
  auto frame = queue.take(0);
  EXPECT_FALSE(queue.reserve(1000));
  queue.finish(0, *frame);
  EXPECT_TRUE(queue.reserve(1000));
  queue.unreserve(1000);
  EXPECT_FALSE(queue.reserve(1'000'000'000));
  EXPECT_FALSE(queue.reserve(~0ULL));
}

TEST(WriteQueue, ADeadNodesFramesGoToTheOthers) {
  WriteQueue queue(3, 1, 1'000'000, false);
  for (FrameSeq seq = 0; seq < 12; ++seq) add(queue, seq);
  auto underway = queue.take(1);
  queue.mark_dead(1);
  queue.reassign(1, std::move(*underway));
  EXPECT_FALSE(queue.has_work(1));
  EXPECT_EQ(take_all(queue, 0), 6u);
  EXPECT_EQ(take_all(queue, 2), 6u);
}

TEST(WriteQueue, WithoutANodeFramesWaitForOne) {
  WriteQueue queue(2, 1, 1'000'000, false);
  queue.mark_dead(0);
  queue.mark_dead(1);
  for (FrameSeq seq = 0; seq < 5; ++seq) EXPECT_EQ(add(queue, seq), 2u);
  EXPECT_TRUE(queue.nobody_answers());
  queue.mark_alive(1);
  EXPECT_FALSE(queue.nobody_answers());
  EXPECT_EQ(take_all(queue, 1), 5u);
}

TEST(WriteQueue, OnProbationANodeGetsOneFrame) {
  WriteQueue queue(2, 1, 1'000'000, false);
  queue.mark_dead(0);
  queue.put_on_probation(0);
  for (FrameSeq seq = 0; seq < 10; ++seq) add(queue, seq);
  EXPECT_TRUE(queue.is_dead(0));
  auto probe = queue.take(0);
  ASSERT_TRUE(probe);
  EXPECT_FALSE(queue.take(0));
  queue.finish(0, *probe);
  queue.mark_alive(0);
  EXPECT_EQ(take_all(queue, 1), 9u);
  for (FrameSeq seq = 10; seq < 20; ++seq) add(queue, seq);
  EXPECT_EQ(take_all(queue, 0), 5u);
}

// With all dead, who is on probation gets one of those that wait; until that is known there is
// somebody who may answer.
TEST(WriteQueue, ProbationTakesOneOfThoseThatWait) {
  WriteQueue queue(1, 1, 1'000'000, false);
  add(queue, 0);
  add(queue, 1);
  queue.mark_dead(0);
  EXPECT_TRUE(queue.nobody_answers());
  queue.put_on_probation(0);
  EXPECT_FALSE(queue.nobody_answers());
  auto probe = queue.take(0);
  EXPECT_FALSE(queue.nobody_answers());
  EXPECT_FALSE(queue.take(0));
  queue.reassign(0, std::move(*probe));
  EXPECT_TRUE(queue.nobody_answers());
}

TEST(WriteQueue, ARefusedFrameGoesToAnotherNodeThoughItWouldBeThisOnesTurn) {
  WriteQueue queue(3, 1, 1'000'000, false);
  const std::size_t node = add(queue, 0);
  add(queue, 1);
  add(queue, 2);
  auto frame = queue.take(node);
  frame->refused_by = {node};
  EXPECT_TRUE(queue.has_taker(*frame));
  queue.reassign(node, std::move(*frame));
  EXPECT_FALSE(queue.has_work(node));
  EXPECT_EQ(take_all(queue, (node + 1) % 3) + take_all(queue, (node + 2) % 3), 3u);
}

// However many nodes refuse it, it comes to the one that does not, if that answers.
TEST(WriteQueue, TheLastNodeThatWouldHaveItGetsIt) {
  WriteQueue queue(4, 3, 1'000'000, false);
  for (int round = 0; round < 12; ++round) {
    std::size_t node = add(queue, 0);
    auto frame = queue.take(node);
    frame->refused_by = {0, 1, 3};
    EXPECT_TRUE(queue.has_taker(*frame));
    queue.reassign(node, std::move(*frame));
    EXPECT_EQ(take_all(queue, 2), 1u);
  }
  std::size_t node = add(queue, 0);
  auto frame = queue.take(node);
  frame->refused_by = {0, 1, 3};
  queue.mark_dead(2);
  EXPECT_FALSE(queue.has_taker(*frame));
}

// Nodes that never fail differ by one frame at most, in any state of the others, and
// no frame is lost or doubled.
TEST(WriteQueue, EvenAmongTheNodesThatNeverFail) {
  constexpr std::size_t kNodes = 7;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    WriteQueue queue(kNodes, seed, 1'000'000'000, false);
    std::vector<std::vector<FrameSeq>> got(kNodes);
    FrameSeq added = 0;
    auto serve = [&](std::size_t node) {
      auto frame = queue.take(node);
      if (!frame) return;
      bool fails = node >= 4 && random() % 3 == 0;
      if (fails) {
        queue.mark_dead(node);
        return queue.reassign(node, std::move(*frame));
      }
      got[node].push_back(frame->seq);
      queue.finish(node, *frame);
      if (queue.is_dead(node)) queue.mark_alive(node);
    };
    for (int step = 0; step < 2000; ++step) {
      if (random() % 2 == 0) add(queue, added++);
      std::size_t node = random() % kNodes;
      if (queue.is_dead(node) && !queue.has_work(node) && !queue.is_on_probation(node) &&
          random() % 8 == 0) {
        queue.put_on_probation(node);
      }
      serve(node);
    }
    for (bool busy = true; busy;) {
      busy = false;
      for (std::size_t node = 0; node < kNodes; ++node) {
        busy = busy || queue.has_work(node);
        serve(node);
      }
    }
    std::set<FrameSeq> all;
    for (auto& frames : got) all.insert(frames.begin(), frames.end());
    EXPECT_EQ(all.size(), added);
    auto [least, most] =
        std::minmax({got[0].size(), got[1].size(), got[2].size(), got[3].size()});
    EXPECT_LE(most - least, 1u) << "seed " << seed;
    EXPECT_EQ(queue.memory_bytes(), 0u);
  }
}

TEST(WriteQueue, HalfOfTheMemoryGoesToTheSpool) {
  constexpr std::uint64_t kSize = 10'000;
  WriteQueue queue(2, 1, 16 * kSize, true);
  FrameSeq seq = 0;
  while (queue.reserve(kSize)) queue.add(frame_of(seq++, kSize));
  EXPECT_EQ(seq, 11u);  // a quarter is for what is read back
  std::uint64_t offset = 0;
  while (auto taken = queue.take_for_spool()) {
    taken->frame.place = FramePlace::kSpool;
    taken->frame.spool_offset = offset++;
    queue.return_from_spool(std::move(*taken));
  }
  EXPECT_LE(queue.memory_bytes(), 6 * kSize);
  EXPECT_TRUE(queue.reserve(kSize));
  queue.unreserve(kSize);

  // At most a quarter of the memory is under way from the spool; the rest waits.
  std::vector<QueuedFrame> spooled;
  for (std::size_t node : {0, 1}) {
    while (auto frame = queue.take(node)) {
      if (frame->place == FramePlace::kSpool) {
        spooled.push_back(std::move(*frame));
      } else {
        queue.finish(node, *frame);
      }
    }
  }
  EXPECT_EQ(spooled.size(), 4u);
  EXPECT_TRUE(queue.has_work(1));
}

TEST(WriteQueue, AFrameLargerThanItsShareIsReadBackAlone) {
  WriteQueue queue(1, 1, 100'000, true);
  for (FrameSeq seq : {0, 1}) {
    add(queue, seq, 30'000);
  }
  while (auto taken = queue.take_for_spool()) {
    taken->frame.place = FramePlace::kSpool;
    queue.return_from_spool(std::move(*taken));
  }
  add(queue, 2, 30'000);
  while (auto taken = queue.take_for_spool()) {
    taken->frame.place = FramePlace::kSpool;
    queue.return_from_spool(std::move(*taken));
  }
  auto in_memory = queue.take(0);
  EXPECT_EQ(in_memory->place, FramePlace::kMemory);
  queue.finish(0, *in_memory);
  auto first = queue.take(0);
  ASSERT_TRUE(first);
  EXPECT_FALSE(queue.take(0));
  queue.put_back(0, std::move(*first));
  first = queue.take(0);
  ASSERT_TRUE(first);
  queue.finish(0, *first);
  EXPECT_TRUE(queue.take(0));
}

}  // namespace
}  // namespace zazen
