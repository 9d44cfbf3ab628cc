#include "bodhi/node/frame_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "bodhi/common/varint.h"

namespace zazen {
namespace {

using Frames = std::vector<FrameSeq>;

FrameSet random_set(std::mt19937_64& random) {
  Frames frames;
  FrameSeq at = random() >> (random() % 64);
  for (int part = static_cast<int>(random() % 20); part > 0; --part) {
    std::uint64_t stride = (random() >> (40 + random() % 24)) + 1;
    for (int i = static_cast<int>(random() % 50); i >= 0; --i, at += stride)
      frames.push_back(at);
    at += random() % 1000;
  }
  return FrameSet(frames);
}

TEST(FrameSet, SortsAndDropsDuplicates) {
  FrameSet set(Frames{5, 1, 5, UINT64_MAX, 0, 1});
  EXPECT_EQ(set.frames(), (Frames{0, 1, 5, UINT64_MAX}));
  EXPECT_TRUE(set.contains(5));
  EXPECT_FALSE(set.contains(4));
  EXPECT_EQ(FrameSet(Frames{1, 1}).size(), 1u);
}

TEST(FrameSet, RunsAreGreedy) {
  FrameSet set(Frames{0, 4, 8, 12, 13, 14, 100});
  EXPECT_EQ(set.runs(), (std::vector<FrameRun>{{0, 4, 4}, {13, 1, 2}, {100, 1, 1}}));
  EXPECT_TRUE(FrameSet().runs().empty());
}

TEST(FrameSet, EveryFourthFrameIsAFewBytes) {
  Frames frames;
  for (FrameSeq seq = 3; seq < 4'000'000; seq += 4) frames.push_back(seq);
  FrameSet set(frames);
  std::string bytes = set.encode();
  EXPECT_LT(bytes.size(), 10u);
  auto back = FrameSet::decode(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, set);
}

TEST(FrameSet, RandomSetsComeBack) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 500; ++i) {
    FrameSet set = random_set(random);
    auto back = FrameSet::decode(set.encode());
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, set);
  }
  FrameSet ends(Frames{0, UINT64_MAX});
  EXPECT_EQ(FrameSet::decode(ends.encode()).value(), ends);
  EXPECT_TRUE(FrameSet::decode(FrameSet().encode()).value().empty());
}

TEST(FrameSet, SetOperationsAgreeWithStdSet) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    Frames a, b;
    for (int n = static_cast<int>(random() % 40); n > 0; --n) a.push_back(random() % 50);
    for (int n = static_cast<int>(random() % 40); n > 0; --n) b.push_back(random() % 50);
    std::set<FrameSeq> in_a(a.begin(), a.end()), in_b(b.begin(), b.end());
    Frames both, either, only_a;
    for (FrameSeq seq = 0; seq < 50; ++seq) {
      if (in_a.count(seq) && in_b.count(seq)) both.push_back(seq);
      if (in_a.count(seq) || in_b.count(seq)) either.push_back(seq);
      if (in_a.count(seq) && !in_b.count(seq)) only_a.push_back(seq);
    }
    EXPECT_EQ(set_intersection(FrameSet(a), FrameSet(b)).frames(), both);
    EXPECT_EQ(set_union(FrameSet(a), FrameSet(b)).frames(), either);
    EXPECT_EQ(set_difference(FrameSet(a), FrameSet(b)).frames(), only_a);
  }
}

std::string encoded(std::initializer_list<std::uint64_t> numbers) {
  std::string bytes;
  for (std::uint64_t number : numbers) put_varint(bytes, number);
  return bytes;
}

TEST(FrameSet, RefusesMalformedBytes) {
  EXPECT_TRUE(FrameSet::decode(encoded({1, 5, 2, 3})).ok());
  const std::string bad[] = {
      "",
      encoded({1}),
      encoded({1, 5, 2}),
      encoded({1, 5, 2, 3, 0}),                 // bytes left over
      encoded({2, 5, 2, 3}),                    // a run is missing
      encoded({1, 5, 0, 3}),                    // no stride
      encoded({1, 5, 2, 0}),                    // no frame
      encoded({1, 5, 2, 1}),                    // one frame, yet a stride
      encoded({2, 5, 1, 3, 0, 1, 1}),           // not ascending
      encoded({1, UINT64_MAX, 1, 2}),           // past the last number
      encoded({1, 0, 1ULL << 40, 1ULL << 40}),  // stride times count overflows
      encoded({2, UINT64_MAX, 1, 1, 1, 1, 1}),  // the next run's first overflows
      encoded({UINT64_MAX, 5, 2, 3}),
      std::string("\x81\x00\x05\x02\x03", 5),            // a padded varint
      std::string(11, '\xff'),                           // a varint that does not end
      "\x01" + std::string(9, '\xff') + "\x7f\x01\x01",  // more than 64 bits
  };
  for (const std::string& bytes : bad) {
    auto result = FrameSet::decode(bytes);
    ASSERT_FALSE(result.ok()) << testing::PrintToString(bytes);
    EXPECT_EQ(result.error().code, EINVAL);
  }
}

TEST(FrameSet, HasALimit) {
  std::string bytes = encoded({1, 0, 1, 1000});
  EXPECT_TRUE(FrameSet::decode(bytes, 1000).ok());
  auto result = FrameSet::decode(bytes, 999);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, E2BIG);
  // Few bytes that claim very many frames cost nothing.
  EXPECT_FALSE(FrameSet::decode(encoded({1, 0, 1, 1ULL << 60})).ok());
}

TEST(FrameSet, SurvivesHostileBytes) {
  std::mt19937_64 random(4);
  std::string good = random_set(random).encode();
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = i % 2 ? good : std::string(random() % 30, '\0');
    for (int n = static_cast<int>(random() % 4); n >= 0 && !bytes.empty(); --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    auto set = FrameSet::decode(bytes, 10'000);
    if (!set) continue;
    const Frames& frames = set->frames();
    ASSERT_LE(frames.size(), 10'000u);
    ASSERT_EQ(std::adjacent_find(frames.begin(), frames.end(), std::greater_equal<>()),
              frames.end());
  }
}

}  // namespace
}  // namespace zazen
