// A load with one more frame and, in the bits below it, the claimant's place make one number
// for each claimant: so the winner is a minimum, found without a branch that the processor
// could not guess.
#include "coord/contest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "coord/rules.h"

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

// Words begin to end. For each word only those are looked at that claim something in it.
void settle_any(const ChunkWords& contested, Block words, std::span<Claimant> claimants) {
  std::vector<std::uint64_t> all(3 * claimants.size());
  std::uint64_t* const next_loads = all.data();
  std::uint64_t* const bits_of = next_loads + claimants.size();  // of those at hand
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
constexpr std::uint64_t kLaneWins = (std::uint64_t{1} << 16) / kLanes;

// The same for up to eight claimants with equal steps: their wins, less the lowest of them, are
// in eight lanes of 16 bits, with the place in the last three. SSE4.1 has an instruction for
// the least of eight lanes.
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
    // In this order the lanes are in that of the claimants below.
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

// The lanes have room for all frames that these words could have.
bool fit_into_lanes(std::span<const Claimant> claimants, std::uint64_t lowest) {
  static const bool has =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0;
  return has && claimants.size() <= kLanes &&
         std::ranges::all_of(claimants, [&](const Claimant& one) {
           return one.step == claimants[0].step &&
                  one.wins - lowest < kLaneWins - kWordsTogether * 64;
         });
}
#endif

}  // namespace

void settle(const ChunkWords& contested, std::span<Claimant> claimants) {
  for (std::size_t w = 0; w < contested.size(); w += kWordsTogether) {
    const Block words{w, w + kWordsTogether};
#if ZAZEN_EIGHT_LANES
    const std::uint64_t lowest = std::ranges::min(claimants, {}, &Claimant::wins).wins;
    if (fit_into_lanes(claimants, lowest)) {
      settle_eight(contested, words, claimants, lowest);
      continue;
    }
#endif
    settle_any(contested, words, claimants);
  }
}

void SparseContest::settle(std::span<FewClaims> claimants, ChunkWords* claimed) {
  std::size_t size = 1;
  for (const FewClaims& one : claimants) size += one.positions.size();
  heads_.resize(kChunkFrames);
  claims_.resize(size);
  claimed->fill(0);
  std::uint32_t number = 0;
  for (std::size_t c = 0; c < claimants.size(); ++c)
    for (std::size_t i = 0; i < claimants[c].positions.size(); ++i) {
      const std::size_t position = claimants[c].positions[i];
      (*claimed)[position / 64] |= std::uint64_t{1} << (position % 64);
      claims_[++number] = {heads_[position], static_cast<std::uint32_t>(c),
                           static_cast<std::uint32_t>(i)};
      heads_[position] = number;
    }

  ChunkWords contested = *claimed;
  for_each_bit(*claimed, [&](std::size_t position) {
    const Claim& only = claims_[heads_[position]];
    if (only.next != 0) return;
    ++claimants[only.claimant].wins;
    heads_[position] = 0;
    contested[position / 64] &= ~(std::uint64_t{1} << (position % 64));
  });
  for_each_bit(contested, [&](std::size_t position) {
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

}  // namespace zazen
