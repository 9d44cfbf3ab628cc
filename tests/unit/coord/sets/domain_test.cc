#include "coord/sets/domain.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace zazen {
namespace {

std::vector<FrameSeq> frames_of(const Domain& domain) {
  std::vector<FrameSeq> frames;
  DomainWalk walk(domain);
  for (std::size_t i = 0; i < domain.size(); ++i) frames.push_back(walk.at(i).seq);
  return frames;
}

// Against the definition, frame by frame.
void check(const std::vector<FrameSeq>& listed, const Selection& selection) {
  const Domain domain(FrameSet(listed).runs(), selection);
  const FrameSeq begin = selection.begin.value_or(listed.empty() ? 0 : listed.front());
  std::vector<FrameSeq> expected;
  for (FrameSeq seq : listed)
    if (seq >= begin && (!selection.end || seq <= *selection.end) &&
        (seq - begin) % selection.stride == 0)
      expected.push_back(seq);
  ASSERT_EQ(frames_of(domain), expected);

  DomainWalk walk(domain);
  DomainFinder finder(domain);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(listed[walk.at(i).position], expected[i]);
    ASSERT_EQ(finder.index_of(expected[i]), i);
    ASSERT_TRUE(domain.selection().selects(expected[i]));
  }
  std::size_t index = 0;
  for (FrameSeq seq : listed) {
    const bool selected = index < expected.size() && expected[index] == seq;
    ASSERT_EQ(finder.index_of(seq), selected ? index : DomainFinder::kAbsent) << seq;
    index += selected;
  }
}

TEST(Domain, IsWhatTheDefinitionSays) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::set<FrameSeq> listed;
    FrameSeq at = random() % 50;
    for (int run = static_cast<int>(random() % 4); run >= 0; --run) {
      const FrameSeq stride = 1 + random() % 6;
      for (int k = static_cast<int>(random() % 12); k >= 0; --k) listed.insert(at += stride);
      at += random() % 30;
    }
    Selection selection;
    if (random() % 2) selection.begin = random() % (at + 5);
    if (random() % 2) selection.end = random() % (at + 5);
    if (random() % 2) selection.stride = 1 + random() % 9;
    check({listed.begin(), listed.end()}, selection);
  }
}

TEST(Domain, EdgesOfTheNumbers) {
  constexpr FrameSeq last = ~FrameSeq{0};
  check({}, {5, 9, 2});
  check({0, last}, {});
  check({0, last}, {0, last, last});
  check({last - 1, last}, {last, {}, 1});
  check({last - 4, last - 2, last}, {{}, last - 1, 4});
  check({3}, {3, 3, last});
}

TEST(Domain, ARangeHasItsEnd) {
  EXPECT_EQ(frames_of(Domain::range(4, 10, 3)), (std::vector<FrameSeq>{4, 7, 10}));
  EXPECT_EQ(frames_of(Domain::range(4, 9, 3)), (std::vector<FrameSeq>{4, 7}));
  EXPECT_EQ(frames_of(Domain::range(4, 4, 100)), (std::vector<FrameSeq>{4}));
}

}  // namespace
}  // namespace zazen
