// A chunk's bits fit into the first-level cache. The rows of the nodes are made only for chunks
// in which a node loses a claim.
#include "coord/protocol/slice_owner.h"

#include <algorithm>
#include <stdexcept>

namespace zazen {
namespace {

// A frame's weight for a node with one rank; for a node with several ranks it is divided.
constexpr std::uint64_t kFrameLoad = std::uint64_t{1} << 30;

// If aliens are natives, too, there are usually many: a sample of a node's aliens shows it.
constexpr std::size_t kSample = 64;

[[noreturn]] void malformed() {
  throw std::runtime_error("another node's claims are malformed");
}

void demand(bool sound) {
  if (!sound) malformed();
}

bool have_common(const ChunkWords& a, const ChunkWords& b) {
  std::uint64_t common = 0;
  for (std::size_t w = 0; w < a.size(); ++w) common |= a[w] & b[w];
  return common != 0;
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
    : SliceVerdicts(frames, ranks.size()), first_(owner + 1), nodes_(ranks.size()) {
  if (ranks.size() > kClaimantsAtMost) throw std::runtime_error("too many nodes");
  for (std::uint64_t r : ranks)
    step_.push_back(std::max(kFrameLoad / r / kClaimantsAtMost, std::uint64_t{1}) *
                    kClaimantsAtMost);
}

void SliceOwner::decide(std::span<const Claims> claims) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n].native_reader = PackedReader(claims[n].natives);
    nodes_[n].alien_reader = PackedReader(claims[n].aliens);
    lost_[n].reserve(claims[n].aliens.size());
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
    node.has_row = node.loses_aliens_only = false;
    natives += node.natives.count;
    aliens += node.aliens.count;
  }
  const std::size_t native_frames = decide_natives(limit, natives);
  if (native_frames == limit) {
    if (aliens != 0) hand_back_aliens(chunk, limit);
  } else {
    alien_.fill(0);
    if (aliens != 0 && !decide_few_aliens(chunk, limit, aliens)) decide_aliens(limit);
    ChunkWords residues;
    for (std::size_t w = 0; w < residues.size(); ++w) residues[w] = ~(native_[w] | alien_[w]);
    for (std::size_t w = limit / 64; w < residues.size(); ++w)
      residues[w] &= w == limit / 64 ? (std::uint64_t{1} << (limit % 64)) - 1 : 0;
    residues_.put_chunk(chunk, residues);
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].loses_aliens_only)
      put_lost_aliens(n, chunk, limit);
    else if (nodes_[n].has_row)
      lost_[n].put_chunk(chunk, rows_[n].words);
}

// The lost ones as a bit for each alien of the node.
void SliceOwner::put_lost_aliens(std::size_t node, std::size_t chunk, std::size_t limit) {
  demand(read_positions(nodes_[node].aliens, limit, &positions_));
  lost_bits_.assign((positions_.size() + 63) / 64, 0);
  const ChunkWords& row = rows_[node].words;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const std::uint64_t is_lost = row[positions_[i] / 64] >> (positions_[i] % 64) & 1;
    lost_bits_[i / 64] |= is_lost << (i % 64);
  }
  lost_[node].put_part(chunk, lost_bits_, positions_);
}

// Returns how many frames are native somewhere. If this equals the number of claims, no frame
// is native twice.
std::size_t SliceOwner::decide_natives(std::size_t limit, std::size_t claims) {
  native_.fill(0);
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].natives.count == 0) continue;
    demand(add_chunk(nodes_[n].natives, limit, &native_));
    wins_[n] += nodes_[n].natives.count;
  }
  const std::size_t frames = claims == 0 ? 0 : count_members(native_);
  if (frames == claims) return frames;

  ChunkWords once{}, twice{};
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].natives.count == 0) continue;
    read_chunk(nodes_[n].natives, limit, &row(n));
    count_in(row(n), &once, &twice);
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].has_row) wins_[n] -= intersect(row(n), twice, &row(n));
  break_ties_in_rows(twice);
  return frames;
}

// Every frame is native somewhere: all alien claims are lost, except those on frames that the
// node also has as natives.
void SliceOwner::hand_back_aliens(std::size_t chunk, std::size_t limit) {
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (node.aliens.count == 0) continue;
    if (node.natives.count == 0) {
      demand(is_sound(node.aliens, limit));
      lost_[n].put_chunk(chunk, node.aliens);
      continue;
    }
    ChunkWords aliens, natives;
    demand(read_chunk(node.aliens, limit, &aliens));
    read_chunk(node.natives, limit, &natives);
    ChunkWords& lost = row(n);
    for (std::size_t w = 0; w < lost.size(); ++w) lost[w] |= aliens[w] & ~natives[w];
  }
}

void SliceOwner::decide_aliens(std::size_t limit) {
  ChunkWords twice{};
  make_rows();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].aliens.count == 0) continue;
    demand(read_chunk(nodes_[n].aliens, limit, &alien_rows_[n].words));
    count_in(alien_rows_[n].words, &alien_, &twice);
  }
  ChunkWords contested, disputed;
  std::uint64_t any_native = 0;
  for (std::size_t w = 0; w < contested.size(); ++w) {
    contested[w] = twice[w] & ~native_[w];
    disputed[w] = twice[w] | native_[w];
    any_native |= alien_[w] & native_[w];
  }
  if (any_native == 0 && !any_bit(contested)) {
    for (std::size_t n = 0; n < nodes_.size(); ++n) wins_[n] += nodes_[n].aliens.count;
    return;
  }

  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (node.aliens.count == 0) continue;
    const ChunkWords& aliens = alien_rows_[n].words;
    if (!node.has_row && (any_native == 0 || node.natives.count == 0)) {
      node.has_row = true;
      node.loses_aliens_only = is_sparse(node.aliens);
      wins_[n] += node.aliens.count - intersect(aliens, disputed, &rows_[n].words);
      continue;
    }
    ChunkWords natives, claimed;
    read_chunk(node.natives, limit, &natives);
    for (std::size_t w = 0; w < claimed.size(); ++w) claimed[w] = aliens[w] & ~natives[w];
    wins_[n] += count_members(claimed) - intersect(claimed, disputed, &claimed);
    ChunkWords& lost = row(n);
    for (std::size_t w = 0; w < claimed.size(); ++w) lost[w] |= claimed[w];
  }
  break_ties_in_rows(contested);
}

// Returns false and decides nothing if there are many aliens or claimants, if an alien is also
// a native, or if a native is contested.
bool SliceOwner::decide_few_aliens(std::size_t chunk, std::size_t limit, std::size_t claims) {
  claimant_nodes_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t n = (first_ + i) % nodes_.size();
    if (nodes_[n].has_row || !is_sparse(nodes_[n].aliens)) return false;
    if (nodes_[n].aliens.count != 0) claimant_nodes_.push_back(n);
  }
  if (!MaskTieBreak::suits(claimant_nodes_.size())) return false;

  few_.clear();
  all_positions_.resize(claims);
  lost_bits_.assign(claims / 64 + claimant_nodes_.size(), 0);
  std::uint16_t* end = all_positions_.data();
  std::uint64_t* bits = lost_bits_.data();
  for (std::size_t n : claimant_nodes_) {
    demand(read_positions(nodes_[n].aliens, limit, &positions_));
    for (std::size_t position :
         std::span(positions_).first(std::min(kSample, positions_.size())))
      if ((native_[position / 64] >> (position % 64) & 1) != 0) return false;
    few_.push_back({{end, positions_.size()}, bits, wins_[n], step_[n]});
    end = std::ranges::copy(positions_, end).out;
    bits += (positions_.size() + 63) / 64;
  }
  tie_break_.enter(few_);
  if (have_common(tie_break_.claimed(), native_)) {
    tie_break_.withdraw();
    return false;
  }
  tie_break_.break_ties(few_);
  alien_ = tie_break_.claimed();
  for (std::size_t i = 0; i < few_.size(); ++i) {
    const std::size_t n = claimant_nodes_[i];
    wins_[n] = few_[i].wins;
    lost_[n].put_part(chunk, {few_[i].lost, (few_[i].positions.size() + 63) / 64},
                      few_[i].positions);
  }
  return true;
}

void SliceOwner::make_rows() {
  rows_.resize(nodes_.size());
  alien_rows_.resize(nodes_.size());
}

ChunkWords& SliceOwner::row(std::size_t node) {
  make_rows();
  if (!nodes_[node].has_row) rows_[node].words.fill(0);
  nodes_[node].has_row = true;
  return rows_[node].words;
}

void SliceOwner::break_ties_in_rows(const ChunkWords& contested) {
  claimants_.clear();
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t n = (first_ + i) % nodes_.size();
    if (!nodes_[n].has_row) continue;
    claimants_.push_back({rows_[n].words.data(), wins_[n], step_[n]});
    nodes.push_back(n);
  }
  break_ties(contested, claimants_);
  for (std::size_t i = 0; i < nodes.size(); ++i) wins_[nodes[i]] = claimants_[i].wins;
}

PackedSet SliceVerdicts::adopted(std::size_t node, std::uint64_t before,
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
