#include "bodhi/writer/spool.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/bodhi/scratch.h"

namespace zazen {
namespace {

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Spool open_spool(const Scratch& scratch, std::uint64_t limit_bytes) {
  Result<Spool> spool = Spool::open(scratch.path(), limit_bytes);
  EXPECT_TRUE(spool.ok());
  return std::move(*spool);
}

TEST(Spool, HasNoName) {
  Scratch scratch;
  Spool spool = open_spool(scratch, 1000);
  EXPECT_EQ(entries_in(scratch.path()), 0u);
}

TEST(Spool, GivesBackWhatWasWritten) {
  Scratch scratch;
  Spool spool = open_spool(scratch, 1'000'000);
  std::vector<std::uint64_t> offsets;
  for (unsigned i = 0; i < 10; ++i) {
    auto offset = spool.reserve(50'000 + i);
    ASSERT_TRUE(offset);
    ASSERT_TRUE(spool.write(*offset, pattern(50'000 + i, i)).ok());
    offsets.push_back(*offset);
  }
  for (unsigned i = 0; i < 10; ++i) {
    std::vector<std::byte> bytes(50'000 + i);
    ASSERT_TRUE(spool.read(offsets[i], bytes).ok());
    EXPECT_EQ(bytes, pattern(50'000 + i, i));
  }
}

TEST(Spool, HasALimit) {
  Scratch scratch;
  Spool spool = open_spool(scratch, 1000);
  EXPECT_FALSE(spool.reserve(1001));
  EXPECT_TRUE(spool.reserve(600));
  EXPECT_FALSE(spool.reserve(401));
  EXPECT_TRUE(spool.reserve(400));
  EXPECT_FALSE(spool.reserve(1));
  EXPECT_EQ(spool.used_bytes(), 1000u);
  EXPECT_TRUE(spool.reserve(0));
}

// Extents never overlap in any order of steps, and when all are gone there is room for one
// as large as the limit.
TEST(Spool, ExtentsNeverOverlapAndJoinAgain) {
  constexpr std::uint64_t kLimit = 10'000;
  Scratch scratch;
  Spool spool = open_spool(scratch, kLimit);
  std::mt19937 random(7);
  std::map<std::uint64_t, std::uint64_t> held;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0) {
      std::uint64_t size = 1 + random() % 900;
      auto offset = spool.reserve(size);
      if (!offset) continue;
      ASSERT_LE(*offset + size, kLimit);
      auto next = held.lower_bound(*offset);
      if (next != held.end()) {
        ASSERT_LE(*offset + size, next->first);
      }
      if (next != held.begin()) {
        auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, *offset);
      }
      held[*offset] = size;
    } else if (!held.empty()) {
      auto gone = std::next(held.begin(), static_cast<long>(random() % held.size()));
      spool.release(gone->first, gone->second);
      held.erase(gone);
    }
  }
  for (auto [offset, size] : held) spool.release(offset, size);
  EXPECT_EQ(spool.used_bytes(), 0u);
  EXPECT_EQ(spool.reserve(kLimit), 0u);
}

TEST(Spool, ADirectoryThatIsNotThereIsAnError) {
  Scratch scratch;
  Result<Spool> spool = Spool::open(scratch / "none", 1000);
  ASSERT_FALSE(spool.ok());
  EXPECT_EQ(spool.error().code, ENOENT);
}

TEST(Spool, WhatWasNeverWrittenIsAnErrorToRead) {
  Scratch scratch;
  Spool spool = open_spool(scratch, 1000);
  std::vector<std::byte> bytes(10);
  EXPECT_FALSE(spool.read(*spool.reserve(10), bytes).ok());
}

}  // namespace
}  // namespace zazen
