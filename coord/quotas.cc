// The level is a fraction, frames / ranks of the nodes below it. Nodes above it are taken out,
// which lowers it, until none is: at most as many rounds as there are nodes, nearly always two.
#include "coord/quotas.h"

#include <algorithm>

namespace zazen {
namespace {

using Wide = unsigned __int128;

// floor(frames * part / whole) without overflow.
std::uint64_t share(std::uint64_t frames, std::uint64_t part, std::uint64_t whole) {
  return static_cast<std::uint64_t>(static_cast<Wide>(frames) * part / whole);
}

}  // namespace

void fill_quotas(std::span<const std::uint64_t> wins, std::span<const std::uint64_t> ranks,
                 std::uint64_t residues, std::span<std::uint64_t> quotas) {
  if (residues == 0) {
    std::ranges::fill(quotas, 0);
    return;
  }
  std::ranges::fill(quotas, 1);  // 1: below the level, as far as is known
  std::uint64_t frames = 0, whole = 0;
  for (bool lowered = true; lowered;) {
    frames = residues;
    whole = 0;
    for (std::size_t n = 0; n < wins.size(); ++n)
      if (quotas[n] != 0) {
        frames += wins[n];
        whole += ranks[n];
      }
    lowered = false;
    for (std::size_t n = 0; n < wins.size(); ++n)
      if (quotas[n] != 0 &&
          static_cast<Wide>(wins[n]) * whole > static_cast<Wide>(frames) * ranks[n]) {
        quotas[n] = 0;
        lowered = true;
      }
  }
  std::uint64_t left = residues;
  for (std::size_t n = 0; n < wins.size(); ++n)
    if (quotas[n] != 0) left -= share(frames, ranks[n], whole) - wins[n];
  for (std::size_t n = 0; n < wins.size(); ++n)
    if (quotas[n] != 0) {
      quotas[n] = share(frames, ranks[n], whole) - wins[n];
      if (left != 0) {
        ++quotas[n];
        --left;
      }
    }
}

}  // namespace zazen
