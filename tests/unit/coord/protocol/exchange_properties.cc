// exchange_properties [CASES [SEED]]: the exchange algorithm on random states of the caches,
// its pure steps in a loop over the nodes. For each state:
//   - every frame goes to exactly one node, and to a holder if there is one, natives first;
//   - residues are dealt as coord/protocol/quotas.h promises, contested frames as slice_owner.h
//   does;
//   - the paper's rules give the same, wherever they leave no choice.
// Without a seed, a new one each time; it is printed. Exit code 1 at the first failure.
#include <fmt/core.h>

#include <bit>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "cache_states.h"
#include "coord/protocol/exchange.h"
#include "coord/protocol/quotas.h"
#include "coord/protocol/slice_owner.h"
#include "coord/sets/rules.h"

namespace zazen {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

struct Failure {
  std::string text;
};

void demand(bool holds, const char* what, std::size_t frame_or_node) {
  if (!holds) throw Failure{fmt::format("{} ({})", what, frame_or_node)};
}

// The frames of each node, by the steps of ExchangeProtocol::run().
std::vector<PackedSet> exchange(const CacheStates& states) {
  const std::size_t nodes = states.nodes();
  std::vector<PackedSet> natives, aliens;
  for (std::size_t n = 0; n < nodes; ++n) {
    natives.push_back(PackedSet::pack(states.natives[n]));
    aliens.push_back(PackedSet::pack(states.aliens[n]));
  }
  std::vector<SliceOwner> owners;
  std::vector<std::uint64_t> wins(nodes), quotas(nodes);
  std::uint64_t residues = 0;
  for (std::size_t o = 0; o < nodes; ++o) {
    const Block slice = slice_of(states.frames, o, nodes);
    std::vector<Claims> claims;
    for (std::size_t n = 0; n < nodes; ++n)
      claims.push_back({natives[n].bytes(slice), aliens[n].bytes(slice)});
    owners.emplace_back(slice_frames(states.frames, slice), o, states.ranks);
    owners[o].decide(claims);
    for (std::size_t n = 0; n < nodes; ++n) wins[n] += owners[o].wins()[n];
    residues += owners[o].residue_count();
  }
  fill_quotas(wins, states.ranks, states.caches, residues, quotas);

  std::vector<PackedSet> own;
  for (std::size_t n = 0; n < nodes; ++n) {
    std::vector<PackedSet> adopted;
    std::uint64_t before = 0;
    for (const SliceOwner& owner : owners) {
      adopted.push_back(owner.adopted(n, before, quotas));
      before += owner.residue_count();
    }
    std::vector<MessagePair> verdicts;
    for (std::size_t o = 0; o < nodes; ++o)
      verdicts.push_back({owners[o].lost(n).bytes(), adopted[o].bytes()});
    own.push_back(apply_verdicts(std::move(natives[n]), aliens[n], verdicts));
  }
  return own;
}

std::vector<std::size_t> readers_of(const std::vector<PackedSet>& own, std::size_t frames) {
  std::vector<std::size_t> readers(frames, kNobody);
  for (std::size_t n = 0; n < own.size(); ++n)
    own[n].for_each([&](std::size_t i) {
      demand(i < frames && readers[i] == kNobody, "read twice", i);
      readers[i] = n;
    });
  for (std::size_t i = 0; i < frames; ++i) demand(readers[i] != kNobody, "read by nobody", i);
  return readers;
}

// The reader of each frame by the paper, or none yet: steps 2 to 6, without a communicator.
std::vector<std::size_t> paper(const CacheStates& states) {
  Bitmap natives(states.frames);
  for (const Bitmap& held : states.natives)
    for (std::size_t w = 0; w < held.words().size(); ++w) natives.words()[w] |= held.words()[w];
  ClaimBitmap all(states.frames), mine(states.frames);
  std::vector<Bitmap> aliens = states.aliens;
  for (Bitmap& held : aliens) {
    drop_aliens_of_natives(natives, &held);
    mine.claim(held);
    combine_claims(all.words(), mine.words());
  }
  std::vector<std::size_t> readers(states.frames, kNobody);
  for (std::size_t n = 0; n < states.nodes(); ++n) {
    Bitmap own = states.natives[n];
    add_sole_aliens(aliens[n], all, &own);
    own.for_each([&](std::size_t i) { readers[i] = n; });
  }
  return readers;
}

// The lowest possible highest load of nodes with one rank each, where each frame must go to one
// of its candidates: by augmenting paths.
std::size_t best_load(const std::vector<std::vector<std::size_t>>& candidates,
                      std::size_t nodes) {
  for (std::size_t limit = (candidates.size() + nodes - 1) / nodes;; ++limit) {
    std::vector<std::vector<std::size_t>> taken(nodes);
    std::vector<bool> seen;
    std::function<bool(std::size_t)> place = [&](std::size_t frame) {
      for (std::size_t n : candidates[frame]) {
        if (seen[n]) continue;
        seen[n] = true;
        if (taken[n].size() < limit) {
          taken[n].push_back(frame);
          return true;
        }
        for (std::size_t& other : taken[n])
          if (place(other)) {
            other = frame;
            return true;
          }
      }
      return false;
    };
    bool all = true;
    for (std::size_t f = 0; all && f < candidates.size(); ++f) {
      seen.assign(nodes, false);
      all = place(f);
    }
    if (all) return limit;
  }
}

// As coord/protocol/quotas.h promises.
void check_residues(const CacheStates& states, const std::vector<std::uint64_t>& wins,
                    const std::vector<std::uint64_t>& adopted) {
  const std::size_t nodes = states.nodes();
  const std::uint64_t whole =
      std::accumulate(states.ranks.begin(), states.ranks.end(), std::uint64_t{0});
  auto load = [&](std::size_t n) { return wins[n] + adopted[n]; };
  auto most = [&](std::size_t n) { return 2 * states.frames * states.ranks[n] / whole; };
  auto is_even = [&](std::size_t n, std::size_t m) {
    return (load(n) - 1) * states.ranks[m] < (load(m) + 1) * states.ranks[n];
  };
  bool are_cached = true;  // the residues, all of them
  std::uint64_t room = 0, used = 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    if (states.caches[n] != 0) {
      room += most(n) - std::min(most(n), wins[n]);
      used += adopted[n];
    } else if (adopted[n] != 0) {
      are_cached = false;
    }
  }
  demand(are_cached || used >= room, "residues where they are not cached", used);
  for (std::size_t n = 0; n < nodes; ++n) {
    if (adopted[n] == 0) continue;
    const bool caches = states.caches[n] != 0;
    demand(!caches || are_cached || load(n) <= most(n) + 1, "too many residues", n);
    for (std::size_t m = 0; m < nodes; ++m) {
      const bool is_compared = caches ? states.caches[m] != 0 && are_cached : true;
      if (is_compared) demand(is_even(n, m), "residues dealt unevenly", n);
    }
  }
}

void check(const CacheStates& states, bool search_best) {
  const std::size_t nodes = states.nodes();
  const std::vector<std::size_t> readers = readers_of(exchange(states), states.frames);
  const std::vector<std::size_t> by_paper = paper(states);

  std::vector<std::uint64_t> wins(nodes), adopted(nodes);
  std::vector<std::vector<std::size_t>> candidates;  // of the frames that somebody holds
  for (std::size_t i = 0; i < states.frames; ++i) {
    std::vector<std::size_t> native, alien;
    for (std::size_t n = 0; n < nodes; ++n) {
      if (states.natives[n].test(i)) native.push_back(n);
      if (states.aliens[n].test(i)) alien.push_back(n);
    }
    const std::vector<std::size_t>& holders = native.empty() ? alien : native;
    const std::size_t reader = readers[i];
    if (holders.empty()) {
      ++adopted[reader];
      continue;
    }
    ++wins[reader];
    demand(std::ranges::count(holders, reader) == 1, "not read by a holder", i);
    if (holders.size() == 1) demand(by_paper[i] == reader, "the paper says otherwise", i);
    candidates.push_back(holders);
  }

  check_residues(states, wins, adopted);

  const bool single_ranks = std::ranges::all_of(states.ranks, [](auto r) { return r == 1; });
  if (search_best && single_ranks && !candidates.empty()) {
    const std::size_t factor = static_cast<std::size_t>(std::bit_width(nodes - 1)) + 1;
    const std::uint64_t highest = *std::ranges::max_element(wins);
    demand(highest <= factor * best_load(candidates, nodes), "contested frames unevenly", 0);
  }
}

int run(std::size_t cases, std::uint64_t seed) {
  fmt::print("{} cases, seed {}\n", cases, seed);
  std::fflush(stdout);
  for (std::size_t c = 0; c < cases; ++c) {
    std::mt19937_64 random(seed + c);
    const CacheStates states = random_states(random);
    try {
      check(states, states.frames < 100 && c % 4 == 0);
    } catch (const std::exception& e) {
      fmt::print(stderr, "case {} ({} 1 {}): {}\n", c, "exchange_properties", seed + c,
                 e.what());
      return 1;
    } catch (const Failure& failure) {
      fmt::print(stderr, "case {}: {}\nhint: exchange_properties 1 {} repeats it\n", c,
                 failure.text, seed + c);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  const std::size_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  const std::uint64_t seed =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()() * 1'000'003ULL;
  return zazen::run(cases, seed);
}
