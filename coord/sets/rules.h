// The rules of section 4 of the paper, for ZAZEN_PROTOCOL=paper (the exchange has its own in
// coord/protocol/slice_owner.h), as pure functions on the sets of one dataset. They
// decide which node reads which frame, given the frames that the nodes hold. They allocate
// nothing: the caller passes the bitmaps, all of the domain's size.
//
//   Rule 1  native on some node: that node reads it.
//   Rule 2  no native, alien on exactly one node: that node reads it.
//   Rule 3  otherwise it is a residue, and the ranks deal the residues out among them.
#pragma once
#include "coord/sets/bitmap.h"

namespace zazen {

// Rule 1 for aliens (step 4): a native on any node cancels the alien copies.
void drop_aliens_of_natives(const Bitmap& global_natives, Bitmap* local_aliens);

// Rule 2 (step 6): adds to `own` the local aliens that no other node claims.
void add_sole_aliens(const Bitmap& local_aliens, const ClaimBitmap& global_aliens, Bitmap* own);

// Rule 3 (step 7): neither native anywhere nor alien on exactly one node.
void find_residues(const Bitmap& global_natives, const ClaimBitmap& global_aliens,
                   Bitmap* residues);

// The contiguous block of `count` elements for one of `parts`; the sizes differ by at most one.
struct Block {
  std::size_t begin;
  std::size_t end;
  bool operator==(const Block&) const = default;
};
Block block_of(std::size_t count, std::size_t part, std::size_t parts);

}  // namespace zazen
