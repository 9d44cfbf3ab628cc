// Each claimant has one number: its load after one more frame and, in the low bits, its place.
// The winner is the minimum, which is found without an unpredictable branch.
//
// A chunk's masks take 64 or 128 KB, which fit into the second-level cache. The search for
// frames with one claim, and with several, examines 32 masks at a time. After the contest the
// masks contain the claimants that have lost.
#include "coord/sets/tie_break.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "coord/sets/rules.h"

#if defined(__x86_64__) && !defined(ZAZEN_ANY_PROCESSOR)
#define ZAZEN_EIGHT_LANES 1
#include <immintrin.h>
#else
#define ZAZEN_EIGHT_LANES 0
#endif

namespace zazen {
namespace {

constexpr std::uint64_t kPlaceMask = kClaimantsAtMost - 1;
constexpr std::size_t kWordsTogether = 64;
constexpr std::size_t kFramesTogether = 1024;

// Up to this average number of claims for each claimant, lists are faster than rows: 15 ns for
// each claim, 5 us for each row.
constexpr std::size_t kFewClaims = 350;

// Settles the words from begin to end. For each word it looks only at claimants with claims in
// it.
void settle_any(const ChunkWords& contested, Block words, std::span<Claimant> claimants) {
  std::vector<std::uint64_t> all(3 * claimants.size());
  std::uint64_t* const next_loads = all.data();
  std::uint64_t* const bits_of = next_loads + claimants.size();  // of the current claimants
  std::uint64_t* const at_hand = bits_of + claimants.size();
  for (std::size_t i = 0; i < claimants.size(); ++i)
    next_loads[i] = (claimants[i].wins + 1) * claimants[i].step | i;
  for (std::size_t w = words.begin; w < words.end; ++w) {
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

#if ZAZEN_EIGHT_LANES
constexpr std::size_t kLanes = 8;

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0 &&
                          __builtin_cpu_supports("bmi") != 0 &&
                          __builtin_cpu_supports("bmi2") != 0;
  return has;
}

// Whether the wins, less the lowest of them, fit into 16 bits together with a claimant's place.
// The limit leaves room for the frames of this contest.
template <class OneClaimant>
bool fit_into_lanes(std::span<const OneClaimant> claimants, std::uint64_t lowest,
                    std::size_t places, std::size_t frames) {
  return claimants.size() <= places &&
         std::ranges::all_of(claimants, [&](const OneClaimant& one) {
           return one.step == claimants[0].step &&
                  one.wins - lowest < (std::uint64_t{1} << 16) / places - frames;
         });
}

// The same for up to eight claimants with equal steps. Their wins, less the lowest of them, are
// in eight lanes of 16 bits, with the place in the last three bits. SSE4.1 has an instruction
// for the minimum of eight lanes.
[[gnu::target("avx2,bmi")]] void settle_eight(const ChunkWords& contested, Block words,
                                              std::span<Claimant> claimants,
                                              std::uint64_t lowest) {
  alignas(16) std::uint16_t lanes[kLanes] = {};
  const std::uint64_t* rows[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    const bool there = i < claimants.size();
    rows[i] = there ? claimants[i].row : nullptr;
    if (there) lanes[i] = static_cast<std::uint16_t>((claimants[i].wins - lowest) * kLanes + i);
  }
  auto word = [&](std::size_t i, std::size_t w) {
    return static_cast<long long>(i < claimants.size() ? rows[i][w] : 0);
  };
  const __m128i ones = _mm_set1_epi16(-1), one_win = _mm_set1_epi16(kLanes);
  __m128i loads = _mm_load_si128(reinterpret_cast<const __m128i*>(lanes));
  for (std::size_t w = words.begin; w < words.end; ++w) {
    if (contested[w] == 0) continue;
    // This order gives the lanes the order of the claimants below.
    const __m256i some = _mm256_set_epi64x(word(5, w), word(4, w), word(1, w), word(0, w));
    const __m256i others = _mm256_set_epi64x(word(7, w), word(6, w), word(3, w), word(2, w));
    for (std::uint64_t rest = contested[w]; rest != 0; rest &= rest - 1) {
      const int b = std::countr_zero(rest);
      const __m128i to_the_top = _mm_cvtsi32_si128(63 - b);
      const __m256i tops = _mm256_srai_epi32(
          _mm256_castps_si256(_mm256_shuffle_ps(
              _mm256_castsi256_ps(_mm256_sll_epi64(some, to_the_top)),
              _mm256_castsi256_ps(_mm256_sll_epi64(others, to_the_top)), 0xdd)),
          31);
      const __m128i claims =
          _mm_packs_epi32(_mm256_castsi256_si128(tops), _mm256_extracti128_si256(tops, 1));
      const __m128i claimed = _mm_or_si128(loads, _mm_xor_si128(claims, ones));
      const __m128i least = _mm_minpos_epu16(claimed);
      const __m128i won = _mm_cmpeq_epi16(claimed, _mm_broadcastw_epi16(least));
      loads = _mm_add_epi16(loads, _mm_and_si128(won, one_win));
      const auto winner = static_cast<std::size_t>(_mm_cvtsi128_si32(least)) % kLanes;
      claimants[winner].row[w] &= ~(std::uint64_t{1} << b);
    }
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), loads);
  for (std::size_t i = 0; i < claimants.size(); ++i)
    claimants[i].wins = lowest + lanes[i] / kLanes;
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

[[gnu::target("avx2")]] inline std::uint32_t zero_bytes(__m256i bytes) {
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())));
}
[[gnu::target("avx2")]] inline Lacking lacking(const std::uint8_t* masks) {
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks));
  const __m256i less_one = _mm256_add_epi8(all, _mm256_set1_epi8(-1));
  return {zero_bytes(all), zero_bytes(_mm256_and_si256(all, less_one))};
}

[[gnu::target("avx2")]] inline std::uint32_t zero_pairs(__m256i some, __m256i others) {
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
  return {zero_pairs(some, others),
          zero_pairs(_mm256_and_si256(some, _mm256_add_epi16(some, minus_one)),
                     _mm256_and_si256(others, _mm256_add_epi16(others, minus_one)))};
}

template <class Mask>
[[gnu::target("avx2")]] void find_claims(const Mask* masks, ChunkWords* claimed,
                                         ChunkWords* contested) {
  for (std::size_t w = 0; w < claimed->size(); ++w) {
    const Lacking low = lacking(masks + 64 * w), high = lacking(masks + 64 * w + 32);
    (*claimed)[w] = ~(low.any | std::uint64_t{high.any} << 32);
    (*contested)[w] = ~(low.several | std::uint64_t{high.several} << 32);
  }
}

// Removes the winner from the mask of a frame.
template <class Mask>
void settle_frames(std::span<const std::uint16_t> frames, Mask* masks,
                   std::span<FewClaims> claimants) {
  for (std::size_t frame : frames) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t rest = masks[frame]; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      least = std::min(least, (claimants[i].wins + 1) * claimants[i].step | i);
    }
    const std::size_t winner = least & kPlaceMask;
    masks[frame] = static_cast<Mask>(masks[frame] & ~(std::uint64_t{1} << winner));
    ++claimants[winner].wins;
  }
}

// Of eight frames: those whose mask has the bit that is `shift` below the highest.
[[gnu::target("avx2")]] inline std::uint64_t eight_bits(const std::uint16_t* frames,
                                                        const std::uint8_t* masks,
                                                        __m128i shift) {
  __m128i eight = _mm_cvtsi32_si128(masks[frames[0]]);
  eight = _mm_insert_epi8(eight, masks[frames[1]], 1);
  eight = _mm_insert_epi8(eight, masks[frames[2]], 2);
  eight = _mm_insert_epi8(eight, masks[frames[3]], 3);
  eight = _mm_insert_epi8(eight, masks[frames[4]], 4);
  eight = _mm_insert_epi8(eight, masks[frames[5]], 5);
  eight = _mm_insert_epi8(eight, masks[frames[6]], 6);
  eight = _mm_insert_epi8(eight, masks[frames[7]], 7);
  return static_cast<std::uint64_t>(_mm_movemask_epi8(_mm_sll_epi64(eight, shift)));
}
[[gnu::target("avx2")]] inline std::uint64_t eight_bits(const std::uint16_t* frames,
                                                        const std::uint16_t* masks,
                                                        __m128i shift) {
  __m128i eight = _mm_cvtsi32_si128(masks[frames[0]]);
  eight = _mm_insert_epi16(eight, masks[frames[1]], 1);
  eight = _mm_insert_epi16(eight, masks[frames[2]], 2);
  eight = _mm_insert_epi16(eight, masks[frames[3]], 3);
  eight = _mm_insert_epi16(eight, masks[frames[4]], 4);
  eight = _mm_insert_epi16(eight, masks[frames[5]], 5);
  eight = _mm_insert_epi16(eight, masks[frames[6]], 6);
  eight = _mm_insert_epi16(eight, masks[frames[7]], 7);
  const __m128i bytes = _mm_packs_epi16(_mm_sll_epi16(eight, shift), _mm_setzero_si128());
  return static_cast<std::uint64_t>(_mm_movemask_epi8(bytes));
}

// The claimants that remain in the mask of a frame have lost it.
template <class Mask>
[[gnu::target("avx2")]] void gather_lost(std::span<const std::uint16_t> positions,
                                         const Mask* masks, std::size_t claimant,
                                         std::uint64_t* lost) {
  const auto below = static_cast<int>(8 * sizeof(Mask) - 1 - claimant);
  const __m128i shift = _mm_cvtsi32_si128(below);
  for (std::size_t first = 0; first < positions.size(); first += 64) {
    const std::size_t size = std::min<std::size_t>(64, positions.size() - first);
    const std::uint16_t* frames = &positions[first];
    std::uint64_t bits = 0;
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) bits |= eight_bits(frames + i, masks, shift) << i;
    for (; i < size; ++i) bits |= (std::uint64_t{masks[frames[i]]} >> claimant & 1) << i;
    lost[first / 64] = bits;
  }
}

// The same in lanes, as in settle_eight().
template <class Mask>
[[gnu::target("avx2")]] void settle_in_lanes(std::span<const std::uint16_t> frames, Mask* masks,
                                             std::span<FewClaims> claimants,
                                             std::uint64_t lowest) {
  constexpr std::size_t kPlaces = 8 * sizeof(Mask);
  alignas(16) std::uint16_t lanes[2 * kLanes] = {};
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
    const __m128i here = claimed(loads, mask % 256);
    __m128i least = _mm_minpos_epu16(here), there = here;
    if constexpr (kPlaces > kLanes) {
      there = claimed(others, mask / 256);
      least = _mm_min_epu16(least, _mm_minpos_epu16(there));
    }
    const __m128i winner = _mm_broadcastw_epi16(least);
    loads = _mm_add_epi16(loads, _mm_and_si128(_mm_cmpeq_epi16(here, winner), one_win));
    if constexpr (kPlaces > kLanes)
      others = _mm_add_epi16(others, _mm_and_si128(_mm_cmpeq_epi16(there, winner), one_win));
    const auto place = static_cast<std::size_t>(_mm_cvtsi128_si32(least)) % kPlaces;
    masks[frame] = static_cast<Mask>(mask & ~(std::size_t{1} << place));
  }
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), loads);
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes + kLanes), others);
  for (std::size_t i = 0; i < claimants.size(); ++i)
    claimants[i].wins = lowest + lanes[i] / kPlaces;
}
#endif

bool fit_into_masks([[maybe_unused]] std::size_t claimants) {
#if ZAZEN_EIGHT_LANES
  return has_avx2() && claimants <= 2 * kLanes;
#else
  return false;
#endif
}

}  // namespace

void settle(const ChunkWords& contested, std::span<Claimant> claimants) {
  for (std::size_t w = 0; w < contested.size(); w += kWordsTogether) {
    const Block words{w, w + kWordsTogether};
#if ZAZEN_EIGHT_LANES
    const std::uint64_t lowest = std::ranges::min(claimants, {}, &Claimant::wins).wins;
    if (has_avx2() && fit_into_lanes(std::span<const Claimant>(claimants), lowest, kLanes,
                                     kWordsTogether * 64)) {
      settle_eight(contested, words, claimants, lowest);
      continue;
    }
#endif
    settle_any(contested, words, claimants);
  }
}

bool SparseTieBreak::suits(std::size_t claimants, std::size_t claims) {
  return fit_into_masks(claimants) || claims <= kFewClaims * claimants;
}

void SparseTieBreak::enter(std::span<const FewClaims> claimants) {
#if ZAZEN_EIGHT_LANES
  if (fit_into_masks(claimants.size()))
    return claimants.size() <= kLanes ? enter_masks<std::uint8_t>(claimants)
                                      : enter_masks<std::uint16_t>(claimants);
#endif
  enter_lists(claimants);
}

void SparseTieBreak::settle(std::span<FewClaims> claimants) {
#if ZAZEN_EIGHT_LANES
  if (fit_into_masks(claimants.size()))
    return claimants.size() <= kLanes ? settle_masks<std::uint8_t>(claimants)
                                      : settle_masks<std::uint16_t>(claimants);
#endif
  settle_lists(claimants);
}

void SparseTieBreak::withdraw() {
  std::ranges::fill(heads_, 0);
  std::ranges::fill(masks_, 0);
}

void SparseTieBreak::enter_lists(std::span<const FewClaims> claimants) {
  std::size_t size = 1;
  for (const FewClaims& one : claimants) size += one.positions.size();
  heads_.resize(kChunkFrames);
  claims_.resize(size);
  claimed_.fill(0);
  std::uint32_t number = 0;
  for (std::size_t c = 0; c < claimants.size(); ++c)
    for (std::size_t i = 0; i < claimants[c].positions.size(); ++i) {
      const std::size_t position = claimants[c].positions[i];
      claimed_[position / 64] |= std::uint64_t{1} << (position % 64);
      claims_[++number] = {heads_[position], static_cast<std::uint32_t>(c),
                           static_cast<std::uint32_t>(i)};
      heads_[position] = number;
    }
}

void SparseTieBreak::settle_lists(std::span<FewClaims> claimants) {
  contested_ = claimed_;
  for_each_bit(claimed_, [&](std::size_t position) {
    const Claim& only = claims_[heads_[position]];
    if (only.next != 0) return;
    ++claimants[only.claimant].wins;
    heads_[position] = 0;
    contested_[position / 64] &= ~(std::uint64_t{1} << (position % 64));
  });
  for_each_bit(contested_, [&](std::size_t position) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint32_t winner = 0;
    for (std::uint32_t n = heads_[position]; n != 0; n = claims_[n].next) {
      const Claim& claim = claims_[n];
      FewClaims& one = claimants[claim.claimant];
      one.lost[claim.number / 64] |= std::uint64_t{1} << (claim.number % 64);
      const std::uint64_t load = (one.wins + 1) * one.step | claim.claimant;
      winner = load < least ? n : winner;
      least = std::min(least, load);
    }
    heads_[position] = 0;
    FewClaims& one = claimants[claims_[winner].claimant];
    one.lost[claims_[winner].number / 64] &=
        ~(std::uint64_t{1} << (claims_[winner].number % 64));
    ++one.wins;
  });
}

#if ZAZEN_EIGHT_LANES
template <class Mask>
void SparseTieBreak::enter_masks(std::span<const FewClaims> claimants) {
  masks_.resize(kChunkFrames);
  Mask* const masks = this->masks<Mask>();
  for (std::size_t c = 0; c < claimants.size(); ++c)
    for (std::size_t position : claimants[c].positions)
      masks[position] = static_cast<Mask>(masks[position] | 1U << c);
  find_claims(masks, &claimed_, &contested_);
}

// Two counters for each claimant, used in turn: one would have to wait for its own result.
template <class Mask>
void SparseTieBreak::win_alone(std::span<FewClaims> claimants, std::size_t count) {
  Mask* const masks = this->masks<Mask>();
  ChunkWords alone;
  for (std::size_t w = 0; w < alone.size(); ++w) alone[w] = claimed_[w] & ~contested_[w];
  list_members(alone, count, positions_.data());
  std::uint64_t wins[2][2 * kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) {
    Mask& mask = masks[positions_[i]];
    ++wins[i % 2][std::countr_zero(mask)];
    mask = 0;
  }
  for (std::size_t c = 0; c < claimants.size(); ++c)
    claimants[c].wins += wins[0][c] + wins[1][c];
}

template <class Mask>
void SparseTieBreak::settle_masks(std::span<FewClaims> claimants) {
  Mask* const masks = this->masks<Mask>();
  const std::size_t count = count_members(contested_);
  const std::size_t alone = count_members(claimed_) - count;
  positions_.resize(kChunkFrames + kListRoom);
  if (count == 0)
    for (FewClaims& one : claimants) one.wins += one.positions.size();
  else if (alone != 0)
    win_alone<Mask>(claimants, alone);
  if (count != 0) list_members(contested_, count, positions_.data());
  for (std::size_t i = 0; i < count; i += kFramesTogether) {
    const std::span<const std::uint16_t> frames =
        std::span(positions_).subspan(i, std::min(kFramesTogether, count - i));
    const std::uint64_t lowest = std::ranges::min(claimants, {}, &FewClaims::wins).wins;
    if (fit_into_lanes(std::span<const FewClaims>(claimants), lowest, 8 * sizeof(Mask),
                       kFramesTogether))
      settle_in_lanes(frames, masks, claimants, lowest);
    else
      settle_frames(frames, masks, claimants);
  }

  for (std::size_t c = 0; count != 0 && c < claimants.size(); ++c)
    gather_lost(claimants[c].positions, masks, c, claimants[c].lost);
  std::fill_n(masks, kChunkFrames, Mask{0});
}
#endif

}  // namespace zazen
