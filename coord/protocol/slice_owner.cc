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
      lost_[n].put_part(chunk, rows_[n].words, alien_rows_[n].words);
    else if (nodes_[n].has_row)
      lost_[n].put_chunk(chunk, rows_[n].words);
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
  settle_rows(twice);
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
      node.loses_aliens_only =
          node.aliens.form == ChunkForm::kGaps || node.aliens.form == ChunkForm::kList;
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
  settle_rows(contested);
}

// Returns false and decides nothing if there are many aliens, if an alien is also a native, or
// if a native is contested.
bool SliceOwner::decide_few_aliens(std::size_t chunk, std::size_t limit, std::size_t claims) {
  claimant_nodes_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t n = (first_ + i) % nodes_.size();
    const PackedChunk& aliens = nodes_[n].aliens;
    if (nodes_[n].has_row || !is_sparse(aliens) || aliens.form == ChunkForm::kRuns ||
        aliens.form == ChunkForm::kStride)
      return false;
    if (aliens.count != 0) claimant_nodes_.push_back(n);
  }
  if (!SparseTieBreak::suits(claimant_nodes_.size(), claims)) return false;

  few_.clear();
  positions_.resize(claims);
  lost_bits_.assign(claims / 64 + claimant_nodes_.size(), 0);
  std::uint16_t* end = positions_.data();
  std::uint64_t* bits = lost_bits_.data();
  ChunkPositions aliens;
  for (std::size_t n : claimant_nodes_) {
    demand(read_chunk(nodes_[n].aliens, limit, &aliens));
    for (std::size_t position : aliens.all().first(std::min(kSample, aliens.size())))
      if ((native_[position / 64] >> (position % 64) & 1) != 0) return false;
    few_.push_back({{end, aliens.size()}, bits, wins_[n], step_[n]});
    end = std::copy_n(aliens.all().data(), aliens.size(), end);
    bits += (aliens.size() + 63) / 64;
  }
  contest_.enter(few_);
  if (have_common(contest_.claimed(), native_)) {
    contest_.withdraw();
    return false;
  }
  contest_.settle(few_);
  alien_ = contest_.claimed();
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

void SliceOwner::settle_rows(const ChunkWords& contested) {
  claimants_.clear();
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t n = (first_ + i) % nodes_.size();
    if (!nodes_[n].has_row) continue;
    claimants_.push_back({rows_[n].words.data(), wins_[n], step_[n]});
    nodes.push_back(n);
  }
  settle(contested, claimants_);
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
