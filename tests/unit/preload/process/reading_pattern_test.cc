// Which orders of opens look like a program that divides the list itself, and which do not.
#include "preload/process/reading_pattern.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coord/job/view_writer.h"

namespace zazen {
namespace {

// A rank whose own frames of 0 to `frames` - 1 are those for which own(seq).
class ReadingPatternTest : public ::testing::Test {
 protected:
  template <class Own>
  void have(std::uint64_t frames, Own own) {
    forget();
    ViewContent content;
    content.rank = 1;
    content.ranks = 4;
    ViewDatasetContent dataset;
    dataset.path = "/sim1";
    dataset.frames = "f{seq}";
    dataset.domain_count = frames;
    dataset.domain = {{0, 1, frames}};
    for (FrameSeq seq = 0; seq < frames; ++seq) {
      if (own(seq)) mine_.push_back(seq);
    }
    dataset.own_count = mine_.size();
    dataset.own = [this](ViewFrames& out) {
      for (FrameSeq seq : mine_) out.add({seq, seq + 1000});
    };
    content.datasets = {dataset};
    Result<std::string> directory = make_view_directory({::testing::TempDir()});
    ASSERT_TRUE(directory) << directory.error().message();
    directory_ = *directory;
    ASSERT_TRUE(write_view(directory_, content));
    ASSERT_TRUE(map_view(directory_.c_str(), &view_, &tally_));
    tally_->datasets[0].listed = 1;
  }

  void TearDown() override { forget(); }
  void forget() {
    mine_.clear();
    if (view_ != nullptr) unmap_view(view_, tally_);
    view_ = nullptr;
    if (!directory_.empty()) remove_view_directory(directory_);
    directory_.clear();
  }

  struct Seen {
    Pattern pattern = Pattern::kNone;
    std::size_t opens = 0;
  };
  // The pattern that is seen, and after how many opens.
  Seen open(const std::vector<FrameSeq>& frames, bool listed_early = false, int threads = 1,
            const View* rank_0 = nullptr) {
    ReadingPattern pattern;
    Seen seen;
    char thread[8];
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (!mark_opened(*view_, tally_, view_->datasets[0], frames[i])) continue;
      const Pattern now =
          pattern.note(*view_, tally_, 0, frames[i],
                       &thread[i % static_cast<std::size_t>(threads)], listed_early, rank_0);
      if (now != Pattern::kNone && seen.pattern == Pattern::kNone) seen = {now, i + 1};
    }
    return seen;
  }

  std::vector<FrameSeq> by_name() const {
    std::vector<FrameSeq> sorted = mine_;
    std::ranges::sort(sorted, {}, [](FrameSeq seq) { return std::to_string(seq); });
    return sorted;
  }
  static std::vector<FrameSeq> every(const std::vector<FrameSeq>& list, std::size_t first,
                                     std::size_t step) {
    std::vector<FrameSeq> taken;
    for (std::size_t i = first; i < list.size(); i += step) taken.push_back(list[i]);
    return taken;
  }

  std::vector<FrameSeq> mine_;
  std::string directory_;
  const View* view_ = nullptr;
  Tally* tally_ = nullptr;
};

bool each_fourth(FrameSeq seq) {
  return seq % 4 == 1;
}

TEST_F(ReadingPatternTest, ARankThatReadsItsListIsNotSuspected) {
  for (bool in_order_of_names : {false, true}) {
    have(1200, each_fourth);
    EXPECT_EQ(open(in_order_of_names ? by_name() : mine_).pattern, Pattern::kNone);
  }
  have(1200, [](FrameSeq seq) { return seq >= 300 && seq < 600; });
  EXPECT_EQ(open(mine_).pattern, Pattern::kNone);
}

TEST_F(ReadingPatternTest, ARankThatTakesEachFourthOfItsListIsSeenAtTheFourthOpen) {
  for (bool in_order_of_names : {false, true}) {
    have(1200, each_fourth);
    Seen seen = open(every(in_order_of_names ? by_name() : mine_, 1, 4));
    EXPECT_EQ(seen.pattern, Pattern::kSkips);
    EXPECT_EQ(seen.opens, 4u);
  }
}

TEST_F(ReadingPatternTest, NamesThatAreNoFramesMayMoveTheList) {
  for (std::size_t first : {std::size_t{0}, std::size_t{2}, std::size_t{7}}) {
    have(1200, each_fourth);
    EXPECT_EQ(open(every(mine_, first, 4)).pattern, Pattern::kSkips) << first;
  }
}

// Every second frame first, and then the others; every tenth; half-way on.
TEST_F(ReadingPatternTest, OtherStepsAreNotSuspected) {
  using Slice = std::pair<std::size_t, std::size_t>;
  for (auto [first, step] : {Slice{1, 2}, Slice{0, 5}, Slice{0, 10}, Slice{150, 4}}) {
    have(1200, each_fourth);
    EXPECT_EQ(open(every(mine_, first, step)).pattern, Pattern::kNone) << first << ' ' << step;
  }
}

TEST_F(ReadingPatternTest, OneFrameOfAnotherRankIsNoPattern) {
  have(1200, each_fourth);
  std::vector<FrameSeq> frames{0};
  frames.insert(frames.end(), mine_.begin(), mine_.end());
  EXPECT_EQ(open(frames).pattern, Pattern::kNone);
  // And it hides none.
  have(1200, each_fourth);
  frames = every(mine_, 1, 4);
  frames.insert(frames.begin(), 0);
  EXPECT_EQ(open(frames).pattern, Pattern::kSkips);
}

TEST_F(ReadingPatternTest, ARankThatReadsItsNeighboursFramesTooIsNotSuspected) {
  have(1200, each_fourth);
  std::vector<FrameSeq> frames;
  for (FrameSeq seq : mine_)
    for (FrameSeq near : {seq - 1, seq, seq + 1, seq + 2}) frames.push_back(near);
  EXPECT_EQ(open(frames).pattern, Pattern::kNone);
  have(1200, each_fourth);
  frames = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};  // the first ten, then its own
  frames.insert(frames.end(), mine_.begin(), mine_.end());
  EXPECT_EQ(open(frames).pattern, Pattern::kNone);
}

TEST_F(ReadingPatternTest, NamesThatRank0HandsOutAreSeen) {
  std::vector<FrameSeq> frames;
  for (FrameSeq seq = 4; seq < 300; seq += 16) frames.push_back(seq);  // rank 0's, each fourth
  auto opened = [&](auto own_of_rank_0, auto own) {
    have(1200, own_of_rank_0);
    const View* rank_0 = std::exchange(view_, nullptr);
    Tally* tally = tally_;
    have(1200, own);
    const Seen seen = open(frames, false, 1, rank_0);
    unmap_view(rank_0, tally);
    return seen;
  };
  Seen seen = opened([](FrameSeq seq) { return seq % 4 == 0; }, each_fourth);
  EXPECT_EQ(seen.pattern, Pattern::kOpensOthers);
  EXPECT_EQ(seen.opens, 3u);
  // Where the ranks have blocks, its own lie elsewhere.
  seen = opened([](FrameSeq seq) { return seq < 300; },
                [](FrameSeq seq) { return seq >= 300 && seq < 600; });
  EXPECT_EQ(seen.pattern, Pattern::kOpensOthers);
  EXPECT_LE(seen.opens, 16u);
}

// As range(rank, frames, size) after a listing that was not needed.
TEST_F(ReadingPatternTest, NamesThatTheProgramKnowsAreNotSuspected) {
  std::vector<FrameSeq> strided;
  for (FrameSeq seq = 1; seq < 1200; seq += 3) strided.push_back(seq);
  have(1200, each_fourth);
  EXPECT_EQ(open(strided).pattern, Pattern::kNone);
}

TEST_F(ReadingPatternTest, ARankThatListsNothingIsSuspectedOnlyIfRank0HandsOutItsList) {
  std::vector<FrameSeq> handed_out, strided;
  for (FrameSeq seq = 0; seq < 1200; seq += 12) handed_out.push_back(seq);
  for (FrameSeq seq = 1; seq < 1200; seq += 3) strided.push_back(seq);
  have(1200, [](FrameSeq seq) { return seq % 4 == 0; });
  const View* rank_0 = view_;
  Tally* tally = tally_;
  view_ = nullptr;
  auto opened = [&](const std::vector<FrameSeq>& frames, const View* lister) {
    have(1200, each_fourth);
    tally_->datasets[0].listed = 0;
    return open(frames, false, 1, lister).pattern;
  };
  EXPECT_EQ(opened(handed_out, rank_0), Pattern::kOpensOthers);
  EXPECT_EQ(opened(handed_out, nullptr), Pattern::kNone);
  EXPECT_EQ(opened(strided, rank_0), Pattern::kNone);
  EXPECT_EQ(opened(strided, nullptr), Pattern::kNone);
  have(1200, each_fourth);
  EXPECT_EQ(opened(every(mine_, 1, 4), rank_0), Pattern::kNone);  // names that it knows
  unmap_view(rank_0, tally);
}

TEST_F(ReadingPatternTest, AProgramThatShufflesIsNotSuspected) {
  std::mt19937 random(7);
  int suspected = 0;
  for (int round = 0; round < 500; ++round) {
    have(round % 2 == 0 ? 48 : 400, each_fourth);
    std::vector<FrameSeq> frames = mine_;
    std::ranges::shuffle(frames, random);
    suspected += open(frames).pattern != Pattern::kNone ? 1 : 0;
  }
  EXPECT_EQ(suspected, 0);
}

// Four threads of a rank may take turns.
TEST_F(ReadingPatternTest, SeveralThreadsAreNotSuspected) {
  have(1200, each_fourth);
  EXPECT_EQ(open(every(mine_, 1, 4), false, 4).pattern, Pattern::kNone);
}

TEST_F(ReadingPatternTest, AListFromBeforeMpiInitHasTheFramesOfAll) {
  std::vector<FrameSeq> all(1200);
  for (FrameSeq seq = 0; seq < 1200; ++seq) all[seq] = seq;
  have(1200, each_fourth);
  EXPECT_EQ(open(all, true).pattern, Pattern::kReadsAll);
  have(1200, each_fourth);  // files[rank::size] of it is right
  EXPECT_EQ(open(every(all, 1, 3), true).pattern, Pattern::kNone);
  have(1200, each_fourth);
  EXPECT_EQ(open(mine_, true).pattern, Pattern::kNone);
}

TEST_F(ReadingPatternTest, ItEndsByItself) {
  have(4000, each_fourth);
  ReadingPattern pattern;
  for (FrameSeq seq : mine_) pattern.note(*view_, tally_, 0, seq, nullptr, false, nullptr);
  EXPECT_TRUE(pattern.is_over());
}

}  // namespace
}  // namespace zazen
