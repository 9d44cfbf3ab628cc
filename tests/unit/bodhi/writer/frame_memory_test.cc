#include "bodhi/writer/frame_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace zazen {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;

TEST(FrameMemory, BlockIsUsedAgain) {
  FrameMemory memory(10 * kMegabyte);
  FrameMemory::Block first = memory.take(kMegabyte);
  const std::byte* at = first.get();
  first.reset();
  EXPECT_EQ(memory.idle_bytes(), kMegabyte);
  EXPECT_EQ(memory.take(kMegabyte).get(), at);
}

TEST(FrameMemory, BlockIsUsedAgainForAFrameThatIsALittleSmaller) {
  FrameMemory memory(10 * kMegabyte);
  const std::byte* at = memory.take(kMegabyte).get();
  EXPECT_EQ(memory.take(kMegabyte - 10'000).get(), at);
  // It keeps its size meanwhile.
  EXPECT_EQ(memory.take(kMegabyte).get(), at);
}

TEST(FrameMemory, BlockIsNotUsedForAFrameThatIsLargerOrMuchSmaller) {
  FrameMemory memory(10 * kMegabyte);
  memory.take(kMegabyte);
  FrameMemory::Block larger = memory.take(kMegabyte + 1), smaller = memory.take(kMegabyte / 2);
  EXPECT_EQ(memory.idle_bytes(), kMegabyte);
}

TEST(FrameMemory, WhatIsKeptAndUsedStaysWithinTheLimit) {
  FrameMemory memory(4 * kMegabyte);
  {
    FrameMemory::Block blocks[6];  // whoever takes them answers for the limit
    for (FrameMemory::Block& block : blocks) block = memory.take(kMegabyte);
  }
  EXPECT_EQ(memory.idle_bytes(), 4 * kMegabyte);
  FrameMemory::Block large = memory.take(3 * kMegabyte);
  EXPECT_EQ(memory.idle_bytes(), kMegabyte);
  large.reset();
  EXPECT_EQ(memory.idle_bytes(), 4 * kMegabyte);
  memory.take(5 * kMegabyte);
  EXPECT_EQ(memory.idle_bytes(), 0u);
}

TEST(FrameMemory, NewestBlocksAreKept) {
  FrameMemory memory(4 * kMegabyte);
  memory.take(2 * kMegabyte);
  const std::byte* newest = memory.take(3 * kMegabyte).get();
  EXPECT_EQ(memory.idle_bytes(), 3 * kMegabyte);
  EXPECT_EQ(memory.take(3 * kMegabyte).get(), newest);
}

TEST(FrameMemory, SmallBlocksAreNotKept) {
  FrameMemory memory(10 * kMegabyte);
  EXPECT_NE(memory.take(0), nullptr);
  EXPECT_NE(memory.take(4096), nullptr);
  EXPECT_EQ(memory.idle_bytes(), 0u);
}

TEST(FrameMemory, BlocksMayOutliveIt) {
  FrameMemory::Block block;
  {
    FrameMemory memory(10 * kMegabyte);
    block = memory.take(kMegabyte);
  }
  std::memset(block.get(), 1, kMegabyte);
}

TEST(FrameMemory, ThreadsShareIt) {
  FrameMemory memory(3 * kMegabyte);
  std::vector<std::thread> threads;
  for (int value = 0; value < 4; ++value) {
    threads.emplace_back([&, value] {
      for (int i = 0; i < 200; ++i) {
        FrameMemory::Block block = memory.take(kMegabyte / 2);
        std::memset(block.get(), value, kMegabyte / 2);
        EXPECT_EQ(block[kMegabyte / 4], static_cast<std::byte>(value));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory.idle_bytes(), 3 * kMegabyte);
}

}  // namespace
}  // namespace zazen
