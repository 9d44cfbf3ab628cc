// SliceOwner: the rules of the exchange (D14), applied by one node to the slice that it owns.
//
//   native on one node                that node
//   native on several                 one of them: the least loaded
//   no native, alien on one           that one
//   no native, alien on several       one of them: the least loaded
//   on none                           a residue, dealt out when all know how many there are
//
// "Least loaded" (contest.h) counts the frames of the slice that the node has won so far, for
// each of its ranks: the greedy rule for assignment with restrictions, whose highest load is at
// most ceil(log2 p) + 1 times the best possible (Azar, Naor and Rom 1995); a fixed rotation has
// no such bound. It starts with the owner's neighbour, so that ties do not all go to node 0.
//
// Pure: it communicates nothing. It works chunk by chunk, 8 KB for each set of bits, and where
// every frame of a chunk is native once it only ors and counts. Where no native is in question
// and the aliens are few, it goes through lists of their positions.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "coord/sets/contest.h"
#include "coord/sets/packed_set.h"

namespace zazen {

// The chunks that belong to one of the owners: contiguous blocks, the slices in order.
Block slice_of(std::size_t domain, std::size_t owner, std::size_t owners);
// The frames of these chunks.
std::size_t slice_frames(std::size_t domain, Block chunks);

struct Claims {  // of one node in one slice, as they came
  std::span<const std::byte> natives;
  std::span<const std::byte> aliens;
};

// What an owner has decided.
class SliceVerdicts {
 public:
  // Frames that go to each node because it holds them, claims that were lost, and frames that
  // nobody claims.
  std::span<const std::uint64_t> wins() const { return wins_; }
  std::uint64_t lost_count() const { return lost_count_; }
  std::uint64_t residue_count() const { return residues_.count(); }

  // What the node is told: claims that it lost, in places as a part of its aliens, and which of
  // the residues it adopts. All residues, in the order of the slices, are dealt as blocks of
  // the nodes' quotas; `before` is the number of them in earlier slices.
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
    bool loses_aliens_only = false;  // its row is a part of its row of aliens
  };
  struct Row {
    ChunkWords words;
    std::uint64_t
        apart[8];  // or the same word of all rows would fall into one set of the cache
  };

  void decide_chunk(std::size_t chunk);
  std::size_t decide_natives(std::size_t limit, std::size_t claims);
  void decide_aliens(std::size_t limit);
  bool decide_few_aliens(std::size_t chunk, std::size_t limit, std::size_t claims);
  void hand_back_aliens(std::size_t chunk, std::size_t limit);
  void make_rows();
  ChunkWords& row(std::size_t node);
  void settle_rows(const ChunkWords& contested);

  std::size_t first_;                // where the search for the least loaded starts
  std::vector<std::uint64_t> step_;  // what a frame adds to the load of a node

  // Of the chunk at hand: natives and aliens on at least one node; in a row for each node, the
  // claims that it has lost, or may still lose; and its aliens.
  std::vector<Node> nodes_;
  ChunkWords native_{}, alien_{};
  std::vector<Row> rows_, alien_rows_;
  std::vector<Claimant> claimants_;  // the nodes with a row

  // Of a chunk with few aliens.
  SparseContest contest_;
  std::vector<std::size_t> claimant_nodes_;
  std::vector<FewClaims> few_;  // of these nodes
  std::vector<std::uint16_t> positions_;
  std::vector<std::uint64_t> lost_bits_;
};

}  // namespace zazen
