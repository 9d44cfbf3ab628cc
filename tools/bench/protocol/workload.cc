// A permutation is a keyed bijection of the numbers below a power of two, applied again until
// the result is below p. So a node computes its place in a group without the places of the
// others.
#include "tools/bench/protocol/workload.h"

#include <algorithm>
#include <bit>

namespace zazen {
namespace {

constexpr std::uint64_t kHoles = 65'536 / 20;  // of 65,536 frames, on average
constexpr std::uint64_t kAliens = 65'536 / 20;
constexpr std::size_t kMostCopies = 4;  // of an alien; the least are 2

// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebULL;
  return x ^ (x >> 31);
}

class Permutation {
 public:
  Permutation(std::uint64_t group, std::size_t size)
      : key_(mixed(group)),
        size_(size),
        bits_(static_cast<int>(std::bit_width(size - 1))),
        mask_((std::uint64_t{1} << bits_) - 1) {}

  std::size_t operator()(std::size_t node) const {
    std::uint64_t x = node;
    do x = step(x);
    while (x >= size_);
    return x;
  }

 private:
  std::uint64_t step(std::uint64_t x) const {
    x = (x * (key_ | 1) + (key_ >> 16)) & mask_;
    x ^= x >> ((bits_ + 1) / 2);
    x = (x * (key_ >> 32 | 1) + (key_ >> 48)) & mask_;
    return x ^ x >> ((bits_ + 1) / 2);
  }

  std::uint64_t key_;
  std::size_t size_;
  int bits_;
  std::uint64_t mask_;
};

// A hash decides whether a frame is a native, an alien or a hole. Four frames share a hash, and
// the last one is kept.
class FrameKinds {
 public:
  bool is_native(std::size_t frame) { return of(frame) >= kHoles + kAliens; }
  // Two to four for an alien, 0 for others.
  std::size_t alien_copies(std::size_t frame) {
    const std::uint64_t draw = of(frame) - kHoles;  // huge for a hole
    return draw < kAliens ? 2 + draw * (kMostCopies - 1) / kAliens : 0;
  }

 private:
  std::uint64_t of(std::size_t frame) {
    if (frame / 4 != four_) {
      four_ = frame / 4;
      draws_ = mixed(~four_);
    }
    return draws_ >> (frame % 4 * 16) & 0xffff;
  }

  std::uint64_t four_ = 0;
  std::uint64_t draws_ = mixed(~std::uint64_t{0});
};

// An alien is on the node that would have it in `roundrobin`, and on the nodes whose places
// follow.
NodeHoldings scattered(bool holes, std::size_t frames, std::size_t node, std::size_t nodes) {
  PackedSetWriter natives(frames), aliens(frames);
  FrameKinds kinds;
  for (std::size_t begin = 0, group = 0; begin < frames; begin += nodes, ++group) {
    const std::size_t place = nodes == 1 ? 0 : Permutation(group, nodes)(node);
    if (!holes) {
      if (begin + place < frames) natives.append(begin + place);
      continue;
    }
    auto append_alien = [&](std::size_t frame, std::size_t copy) {
      if (frame < frames && kinds.alien_copies(frame) > copy) aliens.append(frame);
    };
    // In the order of the frames: copies of those before the node's place, then, where the
    // places come round, of those at the end of the group.
    const std::size_t copies = std::min(kMostCopies, nodes);
    for (std::size_t copy = std::min(copies - 1, place); copy > 0; --copy)
      append_alien(begin + place - copy, copy);
    append_alien(begin + place, 0);
    if (begin + place < frames && kinds.is_native(begin + place)) natives.append(begin + place);
    for (std::size_t copy = copies - 1; copy > place; --copy)
      append_alien(begin + place + nodes - copy, copy);
  }
  return {natives.take(), aliens.take()};
}

// The frames of a range, by whole chunks: one for one would take hours for all nodes.
void put_range(std::size_t chunk, Block range, const PackedChunk& full, PackedSet* set) {
  const std::size_t begin = chunk * kChunkFrames, limit = set->chunk_limit(chunk);
  const std::size_t first = std::max(begin, range.begin) - begin;
  const std::size_t end = std::min(begin + limit, std::max(begin, range.end)) - begin;
  if (first >= end) return;
  if (end - first == kChunkFrames) return set->put_chunk(chunk, full);
  ChunkWords words{};
  ByWords{[&](std::size_t w, std::uint64_t bits) { words[w] |= bits; }}.range(first, end - 1);
  set->put_chunk(chunk, words);
}

NodeHoldings in_blocks(std::size_t frames, std::size_t node, std::size_t nodes) {
  const Block mine = block_of(frames, node, nodes);
  ChunkWords all;
  all.fill(~std::uint64_t{0});
  PackedSet one(kChunkFrames);
  one.put_chunk(0, all);
  const PackedChunk full = one.chunk(0);

  NodeHoldings held{PackedSet(frames), PackedSet(frames)};
  for (std::size_t c = 0; c < held.natives.chunks(); ++c) {
    put_range(c, mine, full, &held.natives);
    const std::size_t begin = c * kChunkFrames, end = begin + held.aliens.chunk_limit(c);
    if (mine.begin <= begin && end <= mine.end) continue;
    if (mine.end <= begin || end <= mine.begin) {
      put_range(c, {begin, end}, full, &held.aliens);
      continue;
    }
    ChunkWords words{};
    auto add = [&](std::size_t w, std::uint64_t bits) { words[w] |= bits; };
    if (begin < mine.begin) ByWords{add}.range(0, mine.begin - begin - 1);
    if (mine.end < end) ByWords{add}.range(mine.end - begin, end - begin - 1);
    held.aliens.put_chunk(c, words);
  }
  return held;
}

}  // namespace

std::optional<Workload> workload_named(const std::string& name) {
  if (name == "roundrobin") return Workload::kRoundRobin;
  if (name == "holes") return Workload::kHoles;
  if (name == "blocks") return Workload::kBlocks;
  return std::nullopt;
}

NodeHoldings holdings_of(Workload workload, std::size_t frames, std::size_t node,
                         std::size_t nodes) {
  if (workload == Workload::kBlocks) return in_blocks(frames, node, nodes);
  return scattered(workload == Workload::kHoles, frames, node, nodes);
}

}  // namespace zazen
