// Each claimant has one number: its load after one more frame and, in the low bits, its place.
// The winner is the minimum, which is found without an unpredictable branch.
//
// A chunk's masks take 128 KB, which fit into the second-level cache. The search for frames
// with one claim, and with several, examines 32 masks at a time. After break_ties() the masks
// contain the claimants that have lost.
#include "coord/sets/tie_break.h"

#include <algorithm>
#include <limits>

// A test compiles only the code for any processor.
#if defined(__x86_64__) && !defined(ZAZEN_ANY_PROCESSOR)
#define ZAZEN_MASKS 1
#include <immintrin.h>
#else
#define ZAZEN_MASKS 0
#endif

namespace zazen {
namespace {

constexpr std::uint64_t kPlaceMask = kClaimantsAtMost - 1;

}  // namespace

// For each word it looks only at claimants with claims in it.
void break_ties(const ChunkWords& contested, std::span<Claimant> claimants) {
  std::vector<std::uint64_t> all(3 * claimants.size());
  std::uint64_t* const next_loads = all.data();
  std::uint64_t* const bits_of = next_loads + claimants.size();  // of the current claimants
  std::uint64_t* const at_hand = bits_of + claimants.size();
  for (std::size_t i = 0; i < claimants.size(); ++i)
    next_loads[i] = (claimants[i].wins + 1) * claimants[i].step | i;
  for (std::size_t w = 0; w < contested.size(); ++w) {
    if (contested[w] == 0) continue;
    std::size_t count = 0;
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      bits_of[count] = claimants[i].row[w];
      at_hand[count] = i;
      count += (bits_of[count] & contested[w]) != 0;
    }
    for (std::uint64_t rest = contested[w]; rest != 0; rest &= rest - 1) {
      const int b = std::countr_zero(rest);
      std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
      for (std::size_t i = 0; i < count; ++i)
        least = std::min(least, next_loads[at_hand[i]] | ((bits_of[i] >> b & 1) - 1));
      Claimant& winner = claimants[least & kPlaceMask];
      winner.row[w] &= ~(std::uint64_t{1} << b);
      next_loads[least & kPlaceMask] += winner.step;
      ++winner.wins;
    }
  }
}

#if ZAZEN_MASKS
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kPlaces = 2 * kLanes;
constexpr std::size_t kFramesTogether = 1024;

// Whether the wins, less the lowest of them, fit into 16 bits together with a claimant's place.
// The limit leaves room for the frames that are decided together.
bool fit_into_lanes(std::span<const FewClaims> claimants, std::uint64_t lowest) {
  return std::ranges::all_of(claimants, [&](const FewClaims& one) {
    return one.step == claimants[0].step &&
           one.wins - lowest < (std::uint64_t{1} << 16) / kPlaces - kFramesTogether;
  });
}

// Indexed by a byte of a mask: all bits set in the lanes without a claim.
struct NoClaims {
  alignas(16) std::uint16_t lanes[256][kLanes];
  constexpr NoClaims() : lanes() {
    for (std::size_t mask = 0; mask < 256; ++mask)
      for (std::size_t i = 0; i < kLanes; ++i)
        lanes[mask][i] = (mask >> i & 1) != 0 ? 0 : 0xffff;
  }
};
constexpr NoClaims kNoClaims;

// Of 32 frames: those with an empty mask, and those with a mask of at most one bit.
struct Lacking {
  std::uint32_t any, several;
};

[[gnu::target("avx2")]] inline std::uint32_t zero_masks(__m256i some, __m256i others) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i zeros =
      _mm256_packs_epi16(_mm256_cmpeq_epi16(some, zero), _mm256_cmpeq_epi16(others, zero));
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_permute4x64_epi64(zeros, 0xd8)));
}
[[gnu::target("avx2")]] inline Lacking lacking(const std::uint16_t* masks) {
  const auto* at = reinterpret_cast<const __m256i*>(masks);
  const __m256i some = _mm256_loadu_si256(at), others = _mm256_loadu_si256(at + 1);
  const __m256i minus_one = _mm256_set1_epi16(-1);
  return {zero_masks(some, others),
          zero_masks(_mm256_and_si256(some, _mm256_add_epi16(some, minus_one)),
                     _mm256_and_si256(others, _mm256_add_epi16(others, minus_one)))};
}

[[gnu::target("avx2")]] void find_claims(const std::uint16_t* masks, ChunkWords* claimed,
                                         ChunkWords* contested) {
  for (std::size_t w = 0; w < claimed->size(); ++w) {
    const Lacking low = lacking(masks + 64 * w), high = lacking(masks + 64 * w + 32);
    (*claimed)[w] = ~(low.any | std::uint64_t{high.any} << 32);
    (*contested)[w] = ~(low.several | std::uint64_t{high.several} << 32);
  }
}

// Removes the winner from the mask of a frame.
void decide_frames(std::span<const std::uint16_t> frames, std::uint16_t* masks,
                   std::span<FewClaims> claimants) {
  for (std::size_t frame : frames) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t rest = masks[frame]; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      least = std::min(least, (claimants[i].wins + 1) * claimants[i].step | i);
    }
    const std::size_t winner = least & kPlaceMask;
    masks[frame] = static_cast<std::uint16_t>(masks[frame] & ~(std::uint64_t{1} << winner));
    ++claimants[winner].wins;
  }
}

// The same for claimants with equal steps. Their wins, less the lowest of them, are in lanes of
// 16 bits, with the place in the last four bits. SSE4.1 has an instruction for the minimum of
// eight lanes.
[[gnu::target("avx2")]] void decide_in_lanes(std::span<const std::uint16_t> frames,
                                             std::uint16_t* masks,
                                             std::span<FewClaims> claimants,
                                             std::uint64_t lowest) {
  alignas(16) std::uint16_t lanes[kPlaces] = {};
  for (std::size_t i = 0; i < claimants.size(); ++i)
    lanes[i] = static_cast<std::uint16_t>((claimants[i].wins - lowest) * kPlaces + i);
  const __m128i one_win = _mm_set1_epi16(kPlaces);
  __m128i loads = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes));
  __m128i others = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes + kLanes));
  auto claimed = [](__m128i all, std::size_t mask) {
    const auto* none = reinterpret_cast<const __m128i*>(kNoClaims.lanes[mask]);
    return _mm_or_si128(all, _mm_load_si128(none));
  };
  for (std::size_t frame : frames) {
    const std::size_t mask = masks[frame];
    const __m128i here = claimed(loads, mask % 256), there = claimed(others, mask / 256);
    const __m128i least = _mm_min_epu16(_mm_minpos_epu16(here), _mm_minpos_epu16(there));
    const __m128i winner = _mm_broadcastw_epi16(least);
    loads = _mm_add_epi16(loads, _mm_and_si128(_mm_cmpeq_epi16(here, winner), one_win));
    others = _mm_add_epi16(others, _mm_and_si128(_mm_cmpeq_epi16(there, winner), one_win));
    const auto place = static_cast<std::size_t>(_mm_cvtsi128_si32(least)) % kPlaces;
    masks[frame] = static_cast<std::uint16_t>(mask & ~(std::size_t{1} << place));
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), loads);
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes + kLanes), others);
  for (std::size_t i = 0; i < claimants.size(); ++i)
    claimants[i].wins = lowest + lanes[i] / kPlaces;
}

// The claimants that remain in the mask of a frame have lost it.
void gather_lost(std::span<const std::uint16_t> positions, const std::uint16_t* masks,
                 std::size_t claimant, std::uint64_t* lost) {
  for (std::size_t first = 0; first < positions.size(); first += 64) {
    const auto some =
        positions.subspan(first, std::min<std::size_t>(64, positions.size() - first));
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < some.size(); ++i)
      bits |= (std::uint64_t{masks[some[i]]} >> claimant & 1) << i;
    lost[first / 64] = bits;
  }
}

}  // namespace

bool MaskTieBreak::suits(std::size_t claimants) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return has_avx2 && claimants <= kPlaces;
}

void MaskTieBreak::enter(std::span<const FewClaims> claimants) {
  masks_.resize(kChunkFrames);
  for (std::size_t c = 0; c < claimants.size(); ++c)
    for (std::size_t position : claimants[c].positions)
      masks_[position] = static_cast<std::uint16_t>(masks_[position] | 1U << c);
  find_claims(masks_.data(), &claimed_, &contested_);
}

// The frames with one claim.
void MaskTieBreak::win_alone(std::span<FewClaims> claimants, std::size_t count) {
  ChunkWords alone;
  for (std::size_t w = 0; w < alone.size(); ++w) alone[w] = claimed_[w] & ~contested_[w];
  list_members(alone, count, positions_.data());
  std::uint64_t wins[kPlaces] = {};
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t& mask = masks_[positions_[i]];
    ++wins[std::countr_zero(mask)];
    mask = 0;
  }
  for (std::size_t c = 0; c < claimants.size(); ++c) claimants[c].wins += wins[c];
}

void MaskTieBreak::break_ties(std::span<FewClaims> claimants) {
  const std::size_t count = count_members(contested_);
  const std::size_t alone = count_members(claimed_) - count;
  positions_.resize(kChunkFrames + kListRoom);
  if (count == 0)
    for (FewClaims& one : claimants) one.wins += one.positions.size();
  else if (alone != 0)
    win_alone(claimants, alone);
  if (count != 0) list_members(contested_, count, positions_.data());
  for (std::size_t i = 0; i < count; i += kFramesTogether) {
    const std::span<const std::uint16_t> frames =
        std::span(positions_).subspan(i, std::min(kFramesTogether, count - i));
    const std::uint64_t lowest = std::ranges::min(claimants, {}, &FewClaims::wins).wins;
    if (fit_into_lanes(claimants, lowest))
      decide_in_lanes(frames, masks_.data(), claimants, lowest);
    else
      decide_frames(frames, masks_.data(), claimants);
  }
  for (std::size_t c = 0; count != 0 && c < claimants.size(); ++c)
    gather_lost(claimants[c].positions, masks_.data(), c, claimants[c].lost);
  withdraw();
}
#else
bool MaskTieBreak::suits(std::size_t) {
  return false;
}
void MaskTieBreak::enter(std::span<const FewClaims>) {}
void MaskTieBreak::break_ties(std::span<FewClaims>) {}
#endif

void MaskTieBreak::withdraw() {
  std::ranges::fill(masks_, 0);
}

}  // namespace zazen
