// The figures of each call site. A table of fixed size; a slot is claimed once, without locks.
// Threads and signal handlers add to it concurrently.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zazen::trace {

template <class Number>
struct FiguresOf {
  Number opens, hits, misses;
  Number reads, bytes;
  Number mapped;  // bytes
  Number closes;
  Number nanoseconds;
};
using Figures = FiguresOf<std::atomic<std::uint64_t>>;

struct Site {
  std::atomic<std::uintptr_t> return_address;  // 0: the slot is free
  Figures frames, others;
};

constexpr std::size_t kMaxSites = std::size_t{1} << 13;
constexpr std::uintptr_t kUnknownSite = 1;  // shared by call sites without a slot

bool make_sites();    // false: no memory
void forget_sites();  // sets all to zero; only while no thread adds

Site& site_at(std::uintptr_t return_address);
const Site* all_sites();  // kMaxSites of them

}  // namespace zazen::trace
