// A permutation is a keyed bijection of the numbers below a power of two, applied again and
// again until the result is below p: so a node finds its place in a group without looking at
// the others.
#include "tools/bench/workload.h"

#include <algorithm>
#include <bit>

namespace zazen {
namespace {

constexpr std::uint64_t kHoleIn = 20;   // of so many frames one is cached nowhere
constexpr std::uint64_t kAlienIn = 20;  // and one is an alien on several nodes
constexpr std::size_t kAlienCopies = 4;

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

enum class Kind { kNative, kHole, kAlien };

Kind kind_of(std::uint64_t frame) {
  const std::uint64_t lot = mixed(~frame) % (kHoleIn * kAlienIn);
  if (lot < kAlienIn) return Kind::kHole;
  return lot < kAlienIn + kHoleIn ? Kind::kAlien : Kind::kNative;
}

// Two to four, but not more than there are nodes.
std::size_t alien_copies(std::uint64_t frame, std::size_t nodes) {
  return std::min<std::size_t>(nodes, 2 + (mixed(~frame) >> 40) % (kAlienCopies - 1));
}

// Whoever would have a frame in `roundrobin` is the first that has it as an alien; the next
// copies are with the nodes whose places follow.
Holdings scattered(bool holes, std::size_t frames, std::size_t node, std::size_t nodes) {
  PackedSetWriter natives(frames), aliens(frames);
  std::vector<std::size_t> held;  // aliens of one group
  for (std::size_t begin = 0, group = 0; begin < frames; begin += nodes, ++group) {
    const std::size_t place = nodes == 1 ? 0 : Permutation(group, nodes)(node);
    const std::size_t frame = begin + place;
    if (frame < frames && (!holes || kind_of(frame) == Kind::kNative)) natives.append(frame);
    if (!holes) continue;
    held.clear();
    for (std::size_t copy = 0; copy < std::min(kAlienCopies, nodes); ++copy) {
      const std::size_t other = begin + (place + nodes - copy) % nodes;
      if (other < frames && kind_of(other) == Kind::kAlien && alien_copies(other, nodes) > copy)
        held.push_back(other);
    }
    std::ranges::sort(held);
    for (std::size_t alien : held) aliens.append(alien);
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

Holdings in_blocks(std::size_t frames, std::size_t node, std::size_t nodes) {
  const Block mine = block_of(frames, node, nodes);
  ChunkWords all;
  all.fill(~std::uint64_t{0});
  PackedSet one(kChunkFrames);
  one.put_chunk(0, all);
  const PackedChunk full = one.chunk(0);

  Holdings held{PackedSet(frames), PackedSet(frames)};
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

Holdings holdings_of(Workload workload, std::size_t frames, std::size_t node,
                     std::size_t nodes) {
  if (workload == Workload::kBlocks) return in_blocks(frames, node, nodes);
  return scattered(workload == Workload::kHoles, frames, node, nodes);
}

}  // namespace zazen
