// SliceOwner: the rules of the exchange (D14), applied by one node to the slice that it owns.
//
//   native on one node                that node
//   native on several                 one of them: the least loaded
//   no native, alien on one           that one
//   no native, alien on several       one of them: the least loaded
//   on none                           a residue, dealt out when all know how many there are
//
// "Least loaded" (tie_break.h) counts the frames of the slice that the node has won so far,
// divided by its ranks. This is the greedy rule for assignment with restrictions. Its highest
// load is at most ceil(log2 p) + 1 times the optimum (Azar, Naor and Rom 1995); a fixed
// rotation has no such bound. The order starts with the owner's neighbour, so that ties do not
// all go to node 0.
//
// Pure: no communication. It works chunk by chunk, 8 KB for each set of bits. If every frame of
// a chunk is native exactly once, it only ors and counts. If no native is contested and few
// nodes have few aliens, it uses lists of their positions.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "coord/sets/packed_set.h"
#include "coord/sets/tie_break.h"

namespace zazen {

// The chunks of an owner's slice: contiguous blocks, the slices in order.
Block slice_of(std::size_t domain, std::size_t owner, std::size_t owners);
// The frames of these chunks.
std::size_t slice_frames(std::size_t domain, Block chunks);

struct Claims {  // of one node in one slice, as received
  std::span<const std::byte> natives;
  std::span<const std::byte> aliens;
};

// The decisions of an owner.
class SliceVerdicts {
 public:
  // Frames that each node wins because it holds them, claims that were lost, and frames that no
  // node claims.
  std::span<const std::uint64_t> wins() const { return wins_; }
  std::uint64_t lost_count() const { return lost_count_; }
  std::uint64_t residue_count() const { return residues_.count(); }

  // The message to the node: the claims that it lost, partly as a part of its aliens, and the
  // residues that it adopts. All residues, in the order of the slices, are divided into blocks
  // of the nodes' quotas; `before` is the number of residues in earlier slices.
  const PackedSet& lost(std::size_t node) const { return lost_[node]; }
  PackedSet adopted(std::size_t node, std::uint64_t before,
                    std::span<const std::uint64_t> quotas) const;

 protected:
  SliceVerdicts(std::size_t frames, std::size_t nodes)
      : wins_(nodes), lost_(nodes, PackedSet(frames)), residues_(frames) {}

  std::vector<std::uint64_t> wins_;
  std::uint64_t lost_count_ = 0;
  std::vector<PackedSet> lost_;
  PackedSet residues_;
};

class SliceOwner : public SliceVerdicts {
 public:
  SliceOwner(std::size_t frames, std::size_t owner, std::span<const std::uint64_t> ranks);

  // Claims by node. Throws std::runtime_error if they are malformed.
  void decide(std::span<const Claims> claims);

 private:
  struct Node {
    PackedReader native_reader, alien_reader;
    PackedChunk natives, aliens;
    bool has_row = false;
    bool loses_aliens_only = false;  // its row is a subset of its row of aliens
  };
  struct Row {
    ChunkWords words;
    std::uint64_t
        apart[8];  // otherwise the same word of all rows would map to one set of the cache
  };

  void decide_chunk(std::size_t chunk);
  std::size_t decide_natives(std::size_t limit, std::size_t claims);
  void decide_aliens(std::size_t limit);
  void put_lost_aliens(std::size_t node, std::size_t chunk, std::size_t limit);
  bool decide_few_aliens(std::size_t chunk, std::size_t limit, std::size_t claims);
  void hand_back_aliens(std::size_t chunk, std::size_t limit);
  void make_rows();
  ChunkWords& row(std::size_t node);
  void break_ties_in_rows(const ChunkWords& contested);

  std::size_t first_;                // where the search for the least loaded starts
  std::vector<std::uint64_t> step_;  // the load that a frame adds to a node

  // Of the current chunk: natives and aliens on at least one node. In a row for each node: the
  // claims that it has lost, or may still lose; and its aliens.
  std::vector<Node> nodes_;
  ChunkWords native_{}, alien_{};
  std::vector<Row> rows_, alien_rows_;
  std::vector<Claimant> claimants_;  // the nodes with a row

  // For a chunk with few aliens.
  MaskTieBreak tie_break_;
  std::vector<std::size_t> claimant_nodes_;
  std::vector<FewClaims> few_;                            // of these nodes
  std::vector<std::uint16_t> all_positions_, positions_;  // of all of them, of one
  std::vector<std::uint64_t> lost_bits_;
};

}  // namespace zazen
