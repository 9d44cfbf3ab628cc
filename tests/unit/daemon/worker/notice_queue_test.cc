#include "daemon/worker/changes/notice_queue.h"

#include <gtest/gtest.h>

namespace zazen {
namespace {

constexpr std::size_t kAll = 1'000'000;

NoticeQueue::News news(std::uint64_t size) {
  return {{false, size, 0, 0}, {}};
}

TEST(NoticeQueue, GreetsFirstAndOnce) {
  NoticeQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.add(0, 1, news(1));
  queue.greet();
  NoticeQueue::Batch batch = *queue.next(kAll);
  EXPECT_EQ(batch.kind, NoticeKind::kHello);
  queue.delivered(batch);
  EXPECT_EQ(queue.next(kAll)->kind, NoticeKind::kFrames);
}

TEST(NoticeQueue, NewerNewsReplaceOlderOnes) {
  NoticeQueue queue;
  for (std::uint64_t size = 1; size <= 5; ++size) queue.add(2, 7, news(size));
  queue.add(2, 8, news(1));
  EXPECT_EQ(queue.waiting(), 2u);
  NoticeQueue::Batch batch = *queue.next(kAll);
  EXPECT_EQ(batch.dataset, 2u);
  ASSERT_EQ(batch.frames.size(), 2u);
  EXPECT_EQ(batch.frames[0].first, 7u);
  EXPECT_EQ(batch.frames[0].second.version.size, 5u);
}

TEST(NoticeQueue, WhatIsNotAnsweredIsSentAgain) {
  NoticeQueue queue;
  queue.add(0, 1, news(1));
  EXPECT_TRUE(queue.next(kAll));
  NoticeQueue::Batch batch = *queue.next(kAll);
  EXPECT_EQ(batch.frames.size(), 1u);
  queue.delivered(batch);
  EXPECT_TRUE(queue.empty());
  queue.delivered(batch);  // an answer that comes twice
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST(NoticeQueue, AFrameThatChangesWhileItIsToldIsToldAgain) {
  NoticeQueue queue;
  queue.add(0, 1, news(1));
  NoticeQueue::Batch batch = *queue.next(kAll);
  queue.add(0, 1, news(2));
  queue.delivered(batch);
  EXPECT_EQ(queue.next(kAll)->frames[0].second.version.size, 2u);
}

TEST(NoticeQueue, GoesOutInParts) {
  NoticeQueue queue;
  for (FrameSeq seq = 0; seq < 10; ++seq) queue.add(seq % 2, seq, news(1));
  std::size_t parts = 0, frames = 0;
  for (; !queue.empty(); ++parts) {
    NoticeQueue::Batch batch = *queue.next(3);
    frames += batch.frames.size();
    queue.delivered(batch);
  }
  EXPECT_EQ(parts, 4u);
  EXPECT_EQ(frames, 10u);
}

TEST(NoticeQueue, TooManyFramesOfADatasetBecomeOneWord) {
  NoticeQueue queue;
  queue.add(1, 7, news(1));
  for (FrameSeq seq = 0; seq < NoticeQueue::kMostFrames; ++seq) queue.add(0, seq, news(1));
  EXPECT_EQ(queue.waiting(), 2u) << "dataset 0, and the frame of dataset 1";
  queue.add(0, 5, news(2));  // which it says already
  EXPECT_EQ(queue.waiting(), 2u);
  NoticeQueue::Batch batch = *queue.next(kAll);
  EXPECT_EQ(batch.kind, NoticeKind::kDistrust);
  EXPECT_EQ(batch.dataset, 0u);
  queue.delivered(batch);
  queue.add(0, 5, news(3));
  batch = *queue.next(kAll);
  EXPECT_EQ(batch.kind, NoticeKind::kFrames);
  EXPECT_EQ(batch.dataset, 0u);
  queue.delivered(batch);
  EXPECT_EQ(queue.next(kAll)->dataset, 1u) << "the other dataset has lost nothing";
}

TEST(NoticeQueue, AChangeWhileADistrustIsToldIsToldAgain) {
  NoticeQueue queue;
  queue.distrust(3);
  NoticeQueue::Batch first = *queue.next(kAll);
  queue.add(3, 1, news(1));
  queue.delivered(first);
  NoticeQueue::Batch second = *queue.next(kAll);
  EXPECT_EQ(second.kind, NoticeKind::kDistrust);
  queue.delivered(second);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace zazen
