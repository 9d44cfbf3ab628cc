// The level is a fraction: frames / ranks of the nodes below it. Nodes above the level are
// removed, which lowers it, until none is above. This takes at most as many rounds as there are
// nodes, nearly always two.
#include "coord/protocol/quotas.h"

#include <algorithm>
#include <numeric>

namespace zazen {
namespace {

using Wide = unsigned __int128;

// floor(frames * part / whole) without overflow.
std::uint64_t share(std::uint64_t frames, std::uint64_t part, std::uint64_t whole) {
  return static_cast<std::uint64_t>(static_cast<Wide>(frames) * part / whole);
}

// Adds to the loads of the nodes that have a weight.
void fill(std::span<const std::uint64_t> loads, std::span<const std::uint64_t> weights,
          std::uint64_t added, std::span<std::uint64_t> quotas) {
  std::ranges::fill(quotas, 0);
  if (added == 0) return;
  for (std::size_t n = 0; n < loads.size(); ++n)
    if (weights[n] != 0) quotas[n] = 1;  // 1: below the level, as far as is known
  std::uint64_t frames = 0, whole = 0;
  for (bool lowered = true; lowered;) {
    frames = added;
    whole = 0;
    for (std::size_t n = 0; n < loads.size(); ++n)
      if (quotas[n] != 0) {
        frames += loads[n];
        whole += weights[n];
      }
    lowered = false;
    for (std::size_t n = 0; n < loads.size(); ++n)
      if (quotas[n] != 0 &&
          static_cast<Wide>(loads[n]) * whole > static_cast<Wide>(frames) * weights[n]) {
        quotas[n] = 0;
        lowered = true;
      }
  }
  std::uint64_t left = added;
  for (std::size_t n = 0; n < loads.size(); ++n)
    if (quotas[n] != 0) left -= share(frames, weights[n], whole) - loads[n];
  for (std::size_t n = 0; n < loads.size(); ++n)
    if (quotas[n] != 0) {
      quotas[n] = share(frames, weights[n], whole) - loads[n];
      if (left != 0) {
        ++quotas[n];
        --left;
      }
    }
}

}  // namespace

void fill_quotas(std::span<const std::uint64_t> wins, std::span<const std::uint64_t> ranks,
                 std::span<const std::uint64_t> caches, std::uint64_t residues,
                 std::span<std::uint64_t> quotas) {
  const std::size_t nodes = wins.size();
  const std::uint64_t frames = std::accumulate(wins.begin(), wins.end(), residues);
  const std::uint64_t whole = std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0});
  std::vector<std::uint64_t> weights(nodes), loads(wins.begin(), wins.end());
  std::uint64_t room = 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    if (caches[n] == 0) continue;
    weights[n] = ranks[n];
    const std::uint64_t most = share(frames, 2 * ranks[n], whole);
    room += most - std::min(most, wins[n]);
  }
  const std::uint64_t cached = std::min(residues, room);
  fill(wins, weights, cached, quotas);
  if (cached == residues) return;

  for (std::size_t n = 0; n < nodes; ++n) loads[n] += quotas[n];
  std::vector<std::uint64_t> rest(nodes);
  fill(loads, ranks, residues - cached, rest);
  for (std::size_t n = 0; n < nodes; ++n) quotas[n] += rest[n];
}

}  // namespace zazen
