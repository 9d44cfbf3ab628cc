// The exchange on threads: its examples, its collectives, its failures. That it is right for
// any state of the caches is exchange_properties' business.
#include "coord/protocol/exchange.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "cache_states.h"
#include "coord/protocol/quotas.h"
#include "coord/protocol/slice_owner.h"
#include "coord/ranks/message_bundle.h"
#include "thread_communicator.h"

namespace zazen {
namespace {

using Indexes = std::vector<std::size_t>;

struct Holdings {
  Indexes natives, aliens;
};

struct Outcome {
  std::vector<Indexes> own;  // by node
  std::vector<std::uint64_t> residues;
  std::vector<std::string> failures;
  std::shared_ptr<ThreadCommunicator::Board> board;
};

PackedSet pack(const Indexes& frames, std::size_t domain) {
  PackedSetWriter writer(domain);
  for (std::size_t i : frames) writer.append(i);
  return writer.take();
}

Outcome run_nodes(std::size_t frames, const std::vector<Holdings>& nodes,
                  std::vector<std::uint64_t> ranks = {}, int in_trouble = -1) {
  if (ranks.empty()) ranks.assign(nodes.size(), 1);
  Outcome outcome;
  outcome.own.resize(nodes.size());
  outcome.residues.resize(nodes.size());
  outcome.failures.resize(nodes.size());
  outcome.board = run_ranks(static_cast<int>(nodes.size()), [&](Communicator& leaders) {
    const auto me = static_cast<std::size_t>(leaders.rank());
    ExchangeProtocol protocol(
        {NodeHoldings{pack(nodes[me].natives, frames), pack(nodes[me].aliens, frames)}}, ranks);
    FirstError trouble;
    if (leaders.rank() == in_trouble) trouble.note("no memory");
    try {
      protocol.run(leaders, trouble);
      protocol.own().for_each([&](std::size_t i) { outcome.own[me].push_back(i); });
      outcome.residues[me] = protocol.residue_count();
    } catch (const std::exception& e) {
      outcome.failures[me] = e.what();
    }
  });
  return outcome;
}

TEST(Exchange, ThePerfectCaseIsOneExchangeAndOneSum) {
  Outcome outcome = run_nodes(4, {{{0, 2}, {}}, {{1, 3}, {}}});
  EXPECT_EQ(outcome.own[0], (Indexes{0, 2}));
  EXPECT_EQ(outcome.own[1], (Indexes{1, 3}));
  EXPECT_EQ(outcome.board->calls.exchanges, 1);
  EXPECT_EQ(outcome.board->calls.sums, 1);
  EXPECT_EQ(outcome.board->calls.ors + outcome.board->calls.combines, 0);
}

TEST(Exchange, ExceptionsTakeOneMoreExchange) {
  Outcome outcome = run_nodes(4, {{{0, 2}, {1}}, {{1}, {}}});
  EXPECT_EQ(outcome.own[0], (Indexes{0, 2}));
  EXPECT_EQ(outcome.own[1], (Indexes{1, 3}));
  EXPECT_EQ(outcome.residues[0], 1U);
  EXPECT_EQ(outcome.board->calls.exchanges, 2);
  EXPECT_EQ(outcome.board->calls.sums, 1);
}

TEST(Exchange, ANodeKeepsAFrameThatItHasInBothLogs) {
  Outcome outcome = run_nodes(3, {{{0}, {0, 1, 2}}, {{2}, {0}}});
  EXPECT_EQ(outcome.own[0], (Indexes{0, 1}));
  EXPECT_EQ(outcome.own[1], Indexes{2});
}

TEST(Exchange, AContestedNativeThatIsAlsoAnAlienIsLostAsBoth) {
  Outcome outcome = run_nodes(2, {{{0, 1}, {0, 1}}, {{0, 1}, {0, 1}}});
  EXPECT_EQ(outcome.own[0].size(), 1U);
  EXPECT_EQ(outcome.own[1].size(), 1U);
  EXPECT_NE(outcome.own[0], outcome.own[1]);
}

TEST(Exchange, ContestedFramesAreSharedEvenly) {
  Indexes all(9000);
  std::iota(all.begin(), all.end(), 0);
  for (bool native : {true, false}) {
    const Holdings holdings = native ? Holdings{all, {}} : Holdings{{}, all};
    Outcome outcome = run_nodes(9000, {holdings, holdings, holdings, {}});
    for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(outcome.own[n].size(), 3000U);
    EXPECT_TRUE(outcome.own[3].empty());
  }
}

TEST(Exchange, NodesWithMoreRanksTakeMore) {
  Indexes all(900);
  std::iota(all.begin(), all.end(), 0);
  Outcome contested = run_nodes(900, {{{}, all}, {{}, all}}, {1, 2});
  EXPECT_EQ(contested.own[0].size(), 300U);
  EXPECT_EQ(contested.own[1].size(), 600U);
  Outcome residues = run_nodes(900, {{}, {}}, {1, 2});
  EXPECT_EQ(residues.own[0].size(), 300U);
  EXPECT_EQ(residues.own[1].size(), 600U);
}

TEST(Exchange, ResiduesGoToThoseWithLess) {
  Outcome outcome = run_nodes(10, {{{0, 1, 2, 3, 4, 5}, {}}, {{6}, {}}, {}});
  EXPECT_EQ(outcome.own[0].size(), 6U);
  EXPECT_EQ(outcome.own[1], (Indexes{6, 7}));
  EXPECT_EQ(outcome.own[2], (Indexes{8, 9}));
}

TEST(Exchange, AnEmptyDomainAndASingleNodeAreFine) {
  EXPECT_TRUE(run_nodes(0, {{}, {}}).own[1].empty());
  EXPECT_EQ(run_nodes(3, {{{1}, {}}}).own[0], (Indexes{0, 1, 2}));
}

TEST(Exchange, OneNodeInTroubleStopsAllOfThemAndNobodyWaits) {
  for (int node : {0, 1, 2}) {
    Outcome outcome = run_nodes(6, {{{0, 1}, {}}, {{2}, {}}, {{3}, {4}}}, {}, node);
    for (int n = 0; n < 3; ++n)
      EXPECT_EQ(outcome.failures[static_cast<std::size_t>(n)],
                n == node ? "no memory" : "another node is in trouble");
  }
}

TEST(Exchange, MalformedClaimsAreRefused) {
  const std::byte junk[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  SliceOwner owner(100, 0, std::vector<std::uint64_t>{1, 1});
  const Claims claims[] = {{{}, {}}, {junk, {}}};
  EXPECT_THROW(owner.decide(claims), std::runtime_error);
  // A verdict that takes what the node never claimed, or gives what it has.
  const PackedSet one = pack({1}, 100), none(100);
  const MessagePair takes[] = {{one.bytes(), {}}}, gives[] = {{{}, one.bytes()}};
  EXPECT_THROW(apply_verdicts(none, none, takes), std::runtime_error);
  EXPECT_THROW(apply_verdicts(one, none, gives), std::runtime_error);
  EXPECT_EQ(apply_verdicts(none, none, gives), one);
  // The same where the node has many frames.
  Indexes even;
  for (std::size_t i = 0; i < kChunkFrames; ++i)
    if (i % 2 == 0 || i % 7 == 0) even.push_back(i);
  const PackedSet many = pack(even, kChunkFrames), first = pack({0}, kChunkFrames);
  const PackedSet second = pack({1}, kChunkFrames), nothing(kChunkFrames);
  const MessagePair takes_second[] = {{second.bytes(), {}}},
                    gives_first[] = {{{}, first.bytes()}};
  EXPECT_THROW(apply_verdicts(many, nothing, takes_second), std::runtime_error);
  EXPECT_THROW(apply_verdicts(many, nothing, gives_first), std::runtime_error);
}

// The set with each chunk as a bitmap.
PackedSet in_bitmaps(const PackedSet& set) {
  PackedSet bitmaps(set.domain());
  for (std::size_t c = 0; c < set.chunks(); ++c) {
    ChunkWords words;
    EXPECT_TRUE(read_chunk(set.chunk(c), set.chunk_limit(c), &words));
    const auto bytes =
        std::as_bytes(std::span(words)).first((set.chunk_limit(c) + 63) / 64 * 8);
    bitmaps.put_chunk(c, PackedChunk{ChunkForm::kBitmap, set.chunk(c).count, bytes});
  }
  return bitmaps;
}

void compare_with_bitmaps(std::size_t nodes) {
  constexpr std::size_t kFrames = 2 * kChunkFrames + 5000;
  std::mt19937 random(3);
  for (bool natives_contested : {false, true})
    for (bool aliens_of_natives : {false, true}) {
      std::vector<Indexes> natives(nodes), aliens(nodes);
      for (std::size_t i = 0; i < kFrames; ++i) {
        const unsigned lot = random() % 20;
        const std::size_t node = random() % nodes;
        if (lot >= 2) natives[node].push_back(i);
        if (lot >= 2 && natives_contested && random() % 500 == 0)
          natives[(node + 1) % nodes].push_back(i);
        for (std::size_t copy = 0; copy < 1 + random() % 4; ++copy)
          if (lot == 1 || (aliens_of_natives && random() % 500 == 0))
            aliens[(node + copy) % nodes].push_back(i);
      }
      const std::vector<std::uint64_t> ranks(nodes, 1);
      std::vector<PackedSet> own[2];
      std::vector<std::uint64_t> wins[2];
      for (bool bitmaps : {false, true}) {
        std::vector<PackedSet> native_sets, alien_sets;
        std::vector<Claims> claims;
        for (std::size_t n = 0; n < nodes; ++n) {
          native_sets.push_back(pack(natives[n], kFrames));
          alien_sets.push_back(pack(aliens[n], kFrames));
          if (bitmaps) native_sets[n] = in_bitmaps(native_sets[n]);
          if (bitmaps) alien_sets[n] = in_bitmaps(alien_sets[n]);
        }
        for (std::size_t n = 0; n < nodes; ++n)
          claims.push_back({native_sets[n].bytes(), alien_sets[n].bytes()});
        SliceOwner owner(kFrames, 4, ranks);
        owner.decide(claims);
        wins[bitmaps].assign(owner.wins().begin(), owner.wins().end());
        std::vector<std::uint64_t> quotas(nodes);
        fill_quotas(owner.wins(), ranks, ranks, owner.residue_count(), quotas);
        for (std::size_t n = 0; n < nodes; ++n) {
          const PackedSet adopted = owner.adopted(n, 0, quotas);
          const MessagePair verdicts[] = {{owner.lost(n).bytes(), adopted.bytes()}};
          own[bitmaps].push_back(
              apply_verdicts(std::move(native_sets[n]), alien_sets[n], verdicts));
        }
      }
      EXPECT_EQ(wins[0], wins[1]) << nodes << natives_contested << aliens_of_natives;
      EXPECT_EQ(own[0], own[1]) << nodes << natives_contested << aliens_of_natives;
    }
}

TEST(Exchange, FewClaimsAreDecidedAndAppliedAsBitmapsOfThemAre) {
  for (std::size_t nodes : {2U, 8U, 13U, 20U, 60U}) compare_with_bitmaps(nodes);
}

NodeHoldings held_in(const CacheStates& states, std::size_t node) {
  return {PackedSet::pack(states.natives[node]), PackedSet::pack(states.aliens[node]),
          states.caches[node] != 0};
}

TEST(Exchange, RandomStatesGiveEveryFrameToExactlyOneNode) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const CacheStates states = random_states(random);
    std::vector<Bitmap> own(states.nodes(), Bitmap(states.frames));
    run_ranks(static_cast<int>(states.nodes()), [&](Communicator& leaders) {
      const auto me = static_cast<std::size_t>(leaders.rank());
      ExchangeProtocol protocol({held_in(states, me)}, states.ranks);
      protocol.run(leaders);
      protocol.own().for_each([&](std::size_t i) { own[me].set(i); });
    });
    std::size_t total = 0;
    Bitmap all(states.frames);
    for (const Bitmap& mine : own) {
      total += mine.count();
      mine.for_each([&](std::size_t i) { all.set(i); });
    }
    ASSERT_EQ(total, states.frames) << "seed " << seed;
    ASSERT_TRUE(all.full()) << "seed " << seed;
  }
}

TEST(Quotas, TheyFillTheLowestFirstAndAddUp) {
  auto quotas = [](std::vector<std::uint64_t> wins, std::vector<std::uint64_t> ranks,
                   std::uint64_t residues) {
    std::vector<std::uint64_t> result(wins.size());
    fill_quotas(wins, ranks, ranks, residues, result);
    return result;
  };
  using List = std::vector<std::uint64_t>;
  EXPECT_EQ(quotas({0, 0, 0}, {1, 1, 1}, 7), (List{3, 2, 2}));
  EXPECT_EQ(quotas({10, 0, 4}, {1, 1, 1}, 4), (List{0, 4, 0}));
  EXPECT_EQ(quotas({10, 0, 4}, {1, 1, 1}, 8), (List{0, 6, 2}));
  EXPECT_EQ(quotas({10, 0, 4}, {1, 1, 1}, 100), (List{28, 38, 34}));
  EXPECT_EQ(quotas({5, 5}, {1, 4}, 15), (List{0, 15}));
  EXPECT_EQ(quotas({5, 5}, {1, 4}, 0), (List{0, 0}));
  const std::uint64_t large = std::uint64_t{1} << 40;
  EXPECT_EQ(quotas({large, 0}, {1 << 20, 1 << 20}, large), (List{0, large}));
}

TEST(Quotas, NodesThatCannotCacheGetWhatTheOthersHaveNoRoomFor) {
  auto quotas = [](std::vector<std::uint64_t> wins, std::vector<std::uint64_t> ranks,
                   std::vector<std::uint64_t> caches, std::uint64_t residues) {
    std::vector<std::uint64_t> result(wins.size());
    fill_quotas(wins, ranks, caches, residues, result);
    return result;
  };
  using List = std::vector<std::uint64_t>;
  // One daemon of four is dead, and two.
  EXPECT_EQ(quotas({150, 150, 150, 0}, {1, 1, 1, 1}, {1, 1, 1, 0}, 150), (List{50, 50, 50, 0}));
  EXPECT_EQ(quotas({150, 0, 150, 0}, {1, 1, 1, 1}, {1, 0, 1, 0}, 300), (List{150, 0, 150, 0}));
  // One of four has a daemon: twice its even share, and no more.
  EXPECT_EQ(quotas({150, 0, 0, 0}, {1, 1, 1, 1}, {1, 0, 0, 0}, 450),
            (List{150, 100, 100, 100}));
  EXPECT_EQ(quotas({0, 0, 0}, {2, 1, 1}, {0, 1, 0}, 400), (List{134, 200, 66}));
  EXPECT_EQ(quotas({500, 0}, {1, 1}, {1, 0}, 100), (List{100, 0}));
  EXPECT_EQ(quotas({900, 0, 0}, {1, 1, 1}, {1, 0, 0}, 100), (List{0, 50, 50}));
  EXPECT_EQ(quotas({0, 0, 0}, {1, 1, 1}, {0, 0, 0}, 7), (List{3, 2, 2}));
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(MessageBundle, ItsMessagesComeOutAsTheyWentIn) {
  const std::vector<std::byte> a = bytes_of("ab"), b = bytes_of("cdefghijk"), none;
  for (const std::vector<MessagePair>& messages :
       std::vector<std::vector<MessagePair>>{{{a, b}}, {{a, none}, {none, none}, {b, a}}, {}}) {
    const MessageBundle bundle(messages);
    const std::vector<MessagePair> out = unbundle(bundle.message(), messages.size());
    ASSERT_EQ(out.size(), messages.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(out[i].first, messages[i].first));
      EXPECT_TRUE(std::ranges::equal(out[i].second, messages[i].second));
    }
  }
}

TEST(MessageBundle, NonsenseIsRefused) {
  const std::vector<std::byte> a = bytes_of("ab");
  const MessagePair messages[] = {{a, a}, {a, a}};
  const MessageBundle bundle(messages);
  const MessagePair whole = bundle.message();
  std::vector<std::byte> sizes(whole.first.begin(), whole.first.end());
  EXPECT_EQ(unbundle({}, 2).size(), 2U);
  EXPECT_THROW(unbundle(whole, 3), std::runtime_error);
  EXPECT_THROW(unbundle({whole.first, whole.second.first(7)}, 2), std::runtime_error);
  EXPECT_THROW(unbundle({{}, whole.second}, 2), std::runtime_error);
  sizes[0] = std::byte{1};
  EXPECT_THROW(unbundle({sizes, whole.second}, 2), std::runtime_error);
  sizes[7] = std::byte{0xff};
  EXPECT_THROW(unbundle({sizes, whole.second}, 2), std::runtime_error);
}

// Several random states at once: each comes out as if it were alone.
TEST(Exchange, DatasetsThatAreDecidedTogetherAreDecidedAsAlone) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<CacheStates> all;
    while (all.size() < 4) {
      CacheStates states = random_states(random);
      if (!all.empty() && states.nodes() != all[0].nodes()) continue;
      if (!all.empty()) states.ranks = all[0].ranks;
      all.push_back(std::move(states));
    }
    run_ranks(static_cast<int>(all[0].nodes()), [&](Communicator& leaders) {
      const auto me = static_cast<std::size_t>(leaders.rank());
      std::vector<NodeHoldings> held;
      for (const CacheStates& states : all) held.push_back(held_in(states, me));
      ExchangeProtocol together(held, all[0].ranks);
      together.run(leaders);
      for (std::size_t d = 0; d < all.size(); ++d) {
        ExchangeProtocol alone({held[d]}, all[d].ranks);
        alone.run(leaders);
        EXPECT_EQ(together.own(d), alone.own()) << "seed " << seed;
        EXPECT_EQ(together.residue_count(d), alone.residue_count());
      }
    });
  }
}

}  // namespace
}  // namespace zazen
