// The C API's agreement, on threads: no listing, no view, only logs.
#include "coord/job/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cluster_on_disk.h"
#include "thread_communicator.h"

namespace zazen {
namespace {

constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);

class AssignmentTest : public ::testing::Test {
 protected:
  struct Answer {
    std::string error;
    std::vector<FrameSeq> frames;
  };

  // One rank for each place; request(rank) without its table.
  std::vector<Answer> run(const std::vector<std::size_t>& places,
                          const std::function<AssignmentRequest(int)>& request) {
    std::vector<const Table*> tables;
    for (std::size_t node : places)
      tables.push_back(node == kNoNode ? nullptr : cluster_.table(node));
    std::vector<Answer> answers(places.size());
    run_ranks(static_cast<int>(places.size()), [&](Communicator& world) {
      const auto me = static_cast<std::size_t>(world.rank());
      AssignmentRequest mine = request(world.rank());
      mine.table = tables[me];
      Result<Assignment> assignment = Assignment::agree(world, mine, Settings());
      if (!assignment) {
        answers[me].error = assignment.error().context;
        return;
      }
      for (int twice = 0; twice < 2; ++twice) {
        answers[me].frames.clear();
        for (FrameSeq seq; assignment->next(&seq);) answers[me].frames.push_back(seq);
        assignment->rewind();
      }
      EXPECT_EQ(answers[me].frames.size(), assignment->count());
    });
    return answers;
  }

  ClusterOnDisk cluster_;
};

TEST_F(AssignmentTest, FramesGoToTheNodesThatHoldThemAndTheRestIsDealtOut) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", {});
  cluster_.add_node();
  cluster_.add_node();
  cluster_.hold(0, sim, {0, 4, 5, 8}, {});
  cluster_.hold(1, sim, {2, 6}, {12});
  auto answers =
      run({0, 1}, [&](int) { return AssignmentRequest{{}, {}, sim.path, 0, 14, 2}; });
  EXPECT_EQ(answers[0].frames, (std::vector<FrameSeq>{0, 4, 8, 10}));
  EXPECT_EQ(answers[1].frames, (std::vector<FrameSeq>{2, 6, 12, 14}));
}

TEST_F(AssignmentTest, EachFrameOnceWhateverIsHeldAndHoweverTheRanksLie) {
  const auto& sim = cluster_.add_dataset("sim1", "f{seq}", {});
  for (int n = 0; n < 3; ++n) cluster_.add_node();
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    for (std::size_t n = 0; n < 3; ++n) {
      std::vector<FrameSeq> natives, aliens;
      for (FrameSeq seq = 0; seq < 200'000; seq += 1 + random() % 5'000)
        (random() % 2 ? natives : aliens).push_back(seq);
      std::filesystem::remove_all(cluster_.cache(n) + sim.path);
      cluster_.hold(n, sim, natives, aliens);
    }
    std::vector<std::size_t> places(1 + random() % 6);
    for (std::size_t& place : places) place = random() % 4 == 0 ? kNoNode : random() % 3;
    const FrameSeq begin = random() % 1000, end = begin + random() % 200'000;
    const std::uint64_t stride = 1 + random() % 700;
    std::vector<FrameSeq> all;
    for (const Answer& answer : run(places, [&](int) {
           return AssignmentRequest{{}, {}, sim.path, begin, end, stride};
         })) {
      ASSERT_EQ(answer.error, "");
      ASSERT_TRUE(std::ranges::is_sorted(answer.frames));
      all.insert(all.end(), answer.frames.begin(), answer.frames.end());
    }
    std::ranges::sort(all);
    std::vector<FrameSeq> expected;
    for (FrameSeq seq = begin; seq <= end; seq += stride) expected.push_back(seq);
    ASSERT_EQ(all, expected) << "round " << round;
  }
}

TEST_F(AssignmentTest, WhatMakesNoSenseFailsOnAllRanks) {
  cluster_.add_node();
  auto refused = [&](const std::function<AssignmentRequest(int)>& request) {
    auto answers = run({0, kNoNode, 0}, request);
    EXPECT_NE(answers[0].error, "");
    for (const Answer& answer : answers) EXPECT_EQ(answer.error, answers[0].error);
    return answers[0].error;
  };
  auto only_rank_1 = [](AssignmentRequest wrong) {
    return [wrong](int rank) {
      return rank == 1 ? wrong : AssignmentRequest{{}, {}, "/sim1", 0, 9, 1};
    };
  };
  EXPECT_EQ(refused(only_rank_1({{}, {}, "/sim1", 0, 9, 0})), "rank 1: a stride of 0");
  EXPECT_EQ(refused(only_rank_1({{}, {}, "/sim1", 9, 0, 1})),
            "rank 1: the end is before the begin");
  EXPECT_EQ(refused(only_rank_1({{}, {}, "/sim1", 0, ~FrameSeq{0}, 1})),
            "rank 1: more frames than 2^36");
  EXPECT_EQ(refused(only_rank_1({{}, {}, "/sim1", 0, 10, 1})),
            "rank 1: another range of frames than that of rank 0");
}

}  // namespace
}  // namespace zazen
