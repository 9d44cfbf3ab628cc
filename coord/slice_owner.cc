// A chunk's bits fit into the first-level cache. The rows of the nodes are made only for
// chunks in which somebody loses a claim.
#include "coord/slice_owner.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace zazen {
namespace {

// A frame's weight for a node of one rank; for a node of several it is divided, and rounded so
// that below it there is room for the number of a node.
constexpr std::uint64_t kFrameLoad = std::uint64_t{1} << 30;
constexpr std::uint64_t kPlaceMask = 0xffff;

[[noreturn]] void malformed() {
  throw std::runtime_error("another node's claims are malformed");
}

void demand(bool sound) {
  if (!sound) malformed();
}

std::size_t count(const ChunkWords& words) {
  return count_bits(std::as_bytes(std::span<const std::uint64_t>(words)));
}

// Adds the frames of a chunk to those on at least one node, and on at least two.
void count_in(const PackedChunk& chunk, std::size_t limit, ChunkWords* once,
              ChunkWords* twice) {
  std::uint64_t* one = once->data();
  std::uint64_t* two = twice->data();
  demand(decode_chunk(chunk, limit, ByWords{[one, two](std::size_t w, std::uint64_t bits) {
                        two[w] |= one[w] & bits;
                        one[w] |= bits;
                      }}));
}

}  // namespace

Block slice_of(std::size_t domain, std::size_t owner, std::size_t owners) {
  return block_of(chunk_count(domain), owner, owners);
}

std::size_t slice_frames(std::size_t domain, Block chunks) {
  return std::min(domain, chunks.end * kChunkFrames) -
         std::min(domain, chunks.begin * kChunkFrames);
}

SliceOwner::SliceOwner(std::size_t frames, std::size_t owner,
                       std::span<const std::uint64_t> ranks)
    : frames_(frames),
      first_(owner + 1),
      wins_(ranks.size()),
      lost_(ranks.size(), PackedSet(frames)),
      residues_(frames),
      nodes_(ranks.size()) {
  if (ranks.size() > kPlaceMask) throw std::runtime_error("too many nodes");
  for (std::uint64_t r : ranks)
    step_.push_back(std::max(kFrameLoad / r & ~kPlaceMask, kPlaceMask + 1));
}

void SliceOwner::decide(std::span<const Claims> claims) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].native_reader = PackedReader(claims[n].natives);
    nodes_[n].alien_reader = PackedReader(claims[n].aliens);
  }
  for (std::size_t c = 0; c < residues_.chunks(); ++c) decide_chunk(c);
  for (const Node& node : nodes_) demand(node.native_reader.done() && node.alien_reader.done());
  for (const PackedSet& lost : lost_) lost_count_ += lost.count();
}

void SliceOwner::decide_chunk(std::size_t chunk) {
  const std::size_t limit = residues_.chunk_limit(chunk);
  std::size_t natives = 0, aliens = 0;
  for (Node& node : nodes_) {
    demand(node.native_reader.next(limit, &node.natives) &&
           node.alien_reader.next(limit, &node.aliens));
    node.has_row = false;
    natives += node.natives.count;
    aliens += node.aliens.count;
  }
  decide_natives(limit);
  const std::size_t native_frames = natives == 0 ? 0 : count(native_);
  if (native_frames == limit) {
    if (aliens != 0) hand_back_aliens(chunk, limit);
  } else {
    alien_.fill(0);
    if (aliens != 0) decide_aliens(limit);
    ChunkWords residues;
    for (std::size_t w = 0; w < residues.size(); ++w) residues[w] = ~(native_[w] | alien_[w]);
    for (std::size_t w = limit / 64; w < residues.size(); ++w)
      residues[w] &= w == limit / 64 ? (std::uint64_t{1} << (limit % 64)) - 1 : 0;
    residues_.put_chunk(chunk, residues);
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].has_row) lost_[n].put_chunk(chunk, rows_[n].words);
}

void SliceOwner::decide_natives(std::size_t limit) {
  native_.fill(0);
  native_twice_.fill(0);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].natives.count == 0) continue;
    count_in(nodes_[n].natives, limit, &native_, &native_twice_);
    wins_[n] += nodes_[n].natives.count;
  }
  if (!any_bit(native_twice_)) return;

  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].natives.count == 0) continue;
    ChunkWords& contested = row(n);
    or_chunk(nodes_[n].natives, limit, &contested);
    for (std::size_t w = 0; w < contested.size(); ++w) contested[w] &= native_twice_[w];
    wins_[n] -= count(contested);
  }
  settle(native_twice_);
}

// Every frame is native somewhere: all alien claims are lost, but those on frames that the
// node has as a native, too.
void SliceOwner::hand_back_aliens(std::size_t chunk, std::size_t limit) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (node.aliens.count == 0) continue;
    if (node.natives.count == 0) {
      demand(is_sound(node.aliens, limit));
      lost_[n].put_chunk(chunk, node.aliens);
      continue;
    }
    ChunkWords aliens{}, natives{};
    demand(or_chunk(node.aliens, limit, &aliens));
    or_chunk(node.natives, limit, &natives);
    ChunkWords& lost = row(n);
    for (std::size_t w = 0; w < lost.size(); ++w) lost[w] |= aliens[w] & ~natives[w];
  }
}

void SliceOwner::decide_aliens(std::size_t limit) {
  alien_twice_.fill(0);
  for (const Node& node : nodes_)
    if (node.aliens.count != 0) count_in(node.aliens, limit, &alien_, &alien_twice_);
  ChunkWords contested;
  std::uint64_t any_native = 0;
  for (std::size_t w = 0; w < contested.size(); ++w) {
    contested[w] = alien_twice_[w] & ~native_[w];
    any_native |= alien_[w] & native_[w];
  }
  if (any_native == 0 && !any_bit(contested)) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) wins_[n] += nodes_[n].aliens.count;
    return;
  }

  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    if (node.aliens.count == 0) continue;
    ChunkWords aliens{};
    std::size_t claimed = node.aliens.count;
    or_chunk(node.aliens, limit, &aliens);
    if (any_native != 0 && node.natives.count != 0) {
      ChunkWords natives{};
      or_chunk(node.natives, limit, &natives);
      for (std::size_t w = 0; w < aliens.size(); ++w) aliens[w] &= ~natives[w];
      claimed = count(aliens);
    }
    ChunkWords& lost = row(n);
    for (std::size_t w = 0; w < aliens.size(); ++w) aliens[w] &= native_[w] | contested[w];
    wins_[n] += claimed - count(aliens);
    for (std::size_t w = 0; w < aliens.size(); ++w) lost[w] |= aliens[w];
  }
  settle(contested);
}

ChunkWords& SliceOwner::row(std::size_t node) {
  if (rows_.empty()) rows_.resize(nodes_.size());
  if (!nodes_[node].has_row) rows_[node].words.fill(0);
  nodes_[node].has_row = true;
  return rows_[node].words;
}

// Gives each contested frame to one of the nodes whose row has it, and takes it out of that
// row: what stays is lost. All claimants are looked at for each frame, as one minimum without
// a branch: that is several times faster than to go through the claims that there are.
void SliceOwner::settle(const ChunkWords& contested) {
  claimants_.clear();
  next_loads_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t n = (first_ + i) % nodes_.size();
    if (!nodes_[n].has_row) continue;
    next_loads_.push_back((wins_[n] + 1) * step_[n] | claimants_.size());
    claimants_.push_back(n);
  }
  const std::size_t count = claimants_.size();
  row_words_.resize(count);
  std::uint64_t* const loads = next_loads_.data();
  std::uint64_t* const words = row_words_.data();
  for (std::size_t w = 0; w < contested.size(); ++w) {
    if (contested[w] == 0) continue;
    for (std::size_t i = 0; i < count; ++i) words[i] = rows_[claimants_[i]].words[w];
    for (std::uint64_t bits = contested[w]; bits != 0; bits &= bits - 1) {
      const int b = std::countr_zero(bits);
      std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
      for (std::size_t i = 0; i < count; ++i)
        least = std::min(least, loads[i] | ((words[i] >> b & 1) - 1));
      const std::size_t winner = least & kPlaceMask;
      words[winner] &= ~(std::uint64_t{1} << b);
      loads[winner] += step_[claimants_[winner]];
      ++wins_[claimants_[winner]];
    }
    for (std::size_t i = 0; i < count; ++i) rows_[claimants_[i]].words[w] = words[i];
  }
}

PackedSet SliceOwner::adopted(std::size_t node, std::uint64_t before,
                              std::span<const std::uint64_t> quotas) const {
  std::uint64_t begin = 0;
  for (std::size_t n = 0; n < node; ++n) begin += quotas[n];
  // The node's block of all residues, as numbers within this slice.
  const std::uint64_t end = begin + quotas[node], here = residues_.count();
  auto within = [&](std::uint64_t number) {
    return number <= before ? 0 : std::min(number - before, here);
  };
  return ranked_part(residues_, {within(begin), within(end)});
}

}  // namespace zazen
