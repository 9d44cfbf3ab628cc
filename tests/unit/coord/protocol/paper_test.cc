// The protocol on threads, against the rules spelled out frame by frame.
#include "coord/protocol/paper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

#include "coord/protocol/division.h"
#include "coord/sets/rules.h"
#include "thread_communicator.h"

namespace zazen {
namespace {

struct NodeState {
  std::vector<std::size_t> natives;
  std::vector<std::size_t> aliens;
};

struct Outcome {
  std::vector<std::vector<std::size_t>> own;  // by node
  std::vector<std::vector<std::size_t>> residues;
  std::vector<int> answered;
  std::shared_ptr<ThreadCommunicator::Board> board;
};

std::vector<std::size_t> indexes(const Bitmap& bitmap) {
  std::vector<std::size_t> all;
  bitmap.for_each([&](std::size_t i) { all.push_back(i); });
  return all;
}

bool run_node(Communicator& leaders, std::size_t frames, const NodeState& state,
              std::vector<std::size_t>* own, std::vector<std::size_t>* residues) {
  PaperProtocol protocol(frames);
  for (std::size_t i : state.natives) protocol.natives().set(i);
  for (std::size_t i : state.aliens) protocol.aliens().set(i);
  const bool answered = protocol.run(leaders);
  *own = indexes(protocol.own());
  *residues = indexes(protocol.residues());
  return answered;
}

Outcome run_nodes(std::size_t frames, const std::vector<NodeState>& nodes) {
  Outcome outcome;
  outcome.own.resize(nodes.size());
  outcome.residues.resize(nodes.size());
  outcome.answered.resize(nodes.size());
  outcome.board = run_ranks(static_cast<int>(nodes.size()), [&](Communicator& leaders) {
    const auto me = static_cast<std::size_t>(leaders.rank());
    outcome.answered[me] =
        run_node(leaders, frames, nodes[me], &outcome.own[me], &outcome.residues[me]);
  });
  return outcome;
}

using Indexes = std::vector<std::size_t>;

TEST(Paper, TheExampleOfSection33) {
  Outcome outcome = run_nodes(4, {{{0, 2}, {}}, {{1, 3}, {}}});
  EXPECT_EQ(outcome.own[0], (Indexes{0, 2}));
  EXPECT_EQ(outcome.own[1], (Indexes{1, 3}));
  EXPECT_TRUE(outcome.residues[0].empty());
}

TEST(Paper, PerfectNativesStopAfterOneReduction) {
  Outcome outcome = run_nodes(4, {{{0, 2}, {1}}, {{1, 3}, {0}}});
  EXPECT_EQ(outcome.board->calls.ors, 1);
  EXPECT_EQ(outcome.board->calls.sums, 1);
  EXPECT_EQ(outcome.board->calls.combines, 0);
  EXPECT_EQ(outcome.board->calls.mins, 0);
}

TEST(Paper, AMissingNativeTakesTheSecondReductionAndNoMore) {
  Outcome outcome = run_nodes(4, {{{0, 2}, {}}, {{1}, {}}});
  EXPECT_EQ(outcome.board->calls.ors, 1);
  EXPECT_EQ(outcome.board->calls.combines, 1);
  EXPECT_EQ(outcome.board->calls.mins, 0);
  EXPECT_EQ(outcome.residues[0], Indexes{3});
  EXPECT_EQ(outcome.residues[1], Indexes{3});
}

TEST(Paper, Rule1ANativeKnocksOutAliens) {
  Outcome outcome = run_nodes(2, {{{}, {0, 1}}, {{0}, {}}});
  EXPECT_EQ(outcome.own[0], Indexes{1});
  EXPECT_EQ(outcome.own[1], Indexes{0});
}

TEST(Paper, Rule2TheSoleAlienHolderReads) {
  Outcome outcome = run_nodes(3, {{{0}, {}}, {{}, {1}}, {{}, {}}});
  EXPECT_EQ(outcome.own[1], Indexes{1});
  EXPECT_EQ(outcome.residues[2], Indexes{2});
}

TEST(Paper, Rule3SeveralAliensBackOff) {
  Outcome outcome = run_nodes(2, {{{}, {0, 1}}, {{}, {0}}, {{}, {0}}});
  EXPECT_EQ(outcome.own[0], Indexes{1});
  EXPECT_EQ(outcome.residues[0], Indexes{0});
}

TEST(Paper, NothingCachedMakesEverythingAResidue) {
  Outcome outcome = run_nodes(70, {{{}, {}}, {{}, {}}});
  EXPECT_TRUE(outcome.own[0].empty());
  EXPECT_EQ(outcome.residues[0].size(), 70U);
}

TEST(Paper, AnEmptyDomainIsFine) {
  Outcome outcome = run_nodes(0, {{{}, {}}, {{}, {}}});
  EXPECT_TRUE(outcome.own[0].empty());
  EXPECT_TRUE(outcome.residues[1].empty());
}

TEST(Paper, ANativeOnTwoNodesIsNoticedByAll) {
  Outcome outcome = run_nodes(4, {{{3}, {}}, {{0, 1}, {2}}, {{0, 1, 3}, {}}});
  EXPECT_EQ(outcome.answered, (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(outcome.board->calls.combines, 0);
}

TEST(Paper, TheSecondRoundCanBeForced) {
  PaperProtocol protocol(2);
  protocol.natives().set(0);
  protocol.natives().set(1);
  protocol.force_second_round();
  auto board = run_ranks(1, [&](Communicator& leaders) { EXPECT_TRUE(protocol.run(leaders)); });
  EXPECT_EQ(board->calls.combines, 1);
  EXPECT_TRUE(protocol.own().full());
}

TEST(Division, ThePapersAlgorithmFallsBackToTheExchange) {
  std::vector<Indexes> own(3);
  std::vector<std::uint64_t> residues(3);
  const std::vector<NodeState> nodes = {{{3}, {}}, {{0, 1}, {2}}, {{0, 1, 3}, {}}};
  run_ranks(3, [&](Communicator& world) {
    const auto me = static_cast<std::size_t>(world.rank());
    JobRanks all(world);
    const Introduction without_daemon{{false, {}}, "", FilterWish::kAuto, false};
    all.introduce(&without_daemon);
    ASSERT_TRUE(all.vote() && all.form_groups());
    PackedSetWriter natives(6), aliens(6);
    for (std::size_t i : nodes[me].natives) natives.append(i);
    for (std::size_t i : nodes[me].aliens) aliens.append(i);
    Division division(all, ProtocolChoice::kPaper,
                      {NodeHoldings{natives.take(), aliens.take()}});
    const std::vector<Share> shares = division.run();
    ASSERT_TRUE(all.vote());
    shares[0].frames.for_each([&](std::size_t i) { own[me].push_back(i); });
    residues[me] = shares[0].adopted;
  });
  Indexes all;
  for (const Indexes& mine : own) {
    EXPECT_EQ(mine.size(), 2U);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, (Indexes{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(residues, (std::vector<std::uint64_t>{2, 2, 2}));
}

// The reader of frame i by the rules, or nothing if it is a residue.
std::optional<std::size_t> reader(std::size_t i, const std::vector<NodeState>& nodes) {
  auto holds = [i](const Indexes& held) { return std::ranges::count(held, i) != 0; };
  std::optional<std::size_t> alien;
  int aliens = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (holds(nodes[n].natives)) return n;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (holds(nodes[n].aliens)) {
      ++aliens;
      alien = n;
    }
  return aliens == 1 ? alien : std::nullopt;
}

TEST(Paper, RandomStatesGiveEveryFrameToExactlyOneNodeByTheRules) {
  constexpr int kCases = 20'000, kMaxNodes = 3;
  std::mt19937 random(7);
  auto below = [&](std::size_t n) { return random() % n; };
  struct Case {
    std::size_t frames;
    std::vector<NodeState> nodes;
  };
  std::vector<Case> cases(kCases);
  for (Case& c : cases) {
    c.frames = below(4) == 0 ? below(140) : below(12);
    const std::size_t native_rate = below(5), alien_rate = below(5);
    std::vector<int> natives(c.frames);
    for (int n = 0; n < kMaxNodes; ++n) {
      NodeState state;
      for (std::size_t i = 0; i < c.frames; ++i) {
        // A frame is native on one node at most.
        if (below(5) < native_rate && natives[i]++ == 0) state.natives.push_back(i);
        if (below(5) < alien_rate) state.aliens.push_back(i);
      }
      c.nodes.push_back(std::move(state));
    }
  }
  std::vector<std::vector<Indexes>> own(kCases, std::vector<Indexes>(kMaxNodes));
  auto residues = own;
  run_ranks(kMaxNodes, [&](Communicator& leaders) {
    const auto me = static_cast<std::size_t>(leaders.rank());
    for (std::size_t c = 0; c < cases.size(); ++c)
      run_node(leaders, cases[c].frames, cases[c].nodes[me], &own[c][me], &residues[c][me]);
  });
  for (std::size_t c = 0; c < cases.size(); ++c) {
    Indexes residue;
    std::vector<Indexes> expected(kMaxNodes);
    for (std::size_t i = 0; i < cases[c].frames; ++i) {
      if (auto n = reader(i, cases[c].nodes))
        expected[*n].push_back(i);
      else
        residue.push_back(i);
    }
    ASSERT_EQ(own[c], expected) << "case " << c;
    for (const Indexes& seen : residues[c]) ASSERT_EQ(seen, residue) << "case " << c;
  }
}

TEST(Rules, BlocksCoverTheArrayAndAreEvenToWithinOne) {
  for (std::size_t count : {0U, 1U, 7U, 8U, 9U, 1000U})
    for (std::size_t parts : {1U, 2U, 3U, 8U, 13U}) {
      std::size_t end = 0, least = count, most = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        Block block = block_of(count, part, parts);
        EXPECT_EQ(block.begin, end);
        end = block.end;
        least = std::min(least, block.end - block.begin);
        most = std::max(most, block.end - block.begin);
      }
      EXPECT_EQ(end, count);
      EXPECT_LE(most - least, 1U);
    }
}

TEST(NodeGroups, RanksOfOneDaemonShareAGroupLedByTheLowest) {
  const NodeId a{{1}}, b{{2}};
  const std::vector<Member> members = {{true, b}, {false, {}}, {true, a},
                                       {true, b}, {false, {}}, {true, a}};
  NodeGroups groups = group_by_node(members);
  EXPECT_EQ(groups.nodes, 2);
  ASSERT_EQ(groups.ranks.size(), 4U);
  EXPECT_EQ(groups.ranks[0], (std::vector<int>{0, 3}));
  EXPECT_EQ(groups.ranks[1], (std::vector<int>{1}));
  EXPECT_EQ(groups.ranks[2], (std::vector<int>{2, 5}));
  EXPECT_EQ(groups.ranks[3], (std::vector<int>{4}));
  EXPECT_TRUE(groups.is_leader(2));
  EXPECT_FALSE(groups.is_leader(3));
  EXPECT_TRUE(groups.is_leader(4));
}

}  // namespace
}  // namespace zazen
