// The paper's protocol: the seven steps of section 4, over the leaders of the nodes.
//
// Two reductions at most: the natives by bitwise or, the aliens by the 2-bit operator; after a
// perfect native hit, one. In addition (D14) the nodes sum up how many natives they hold. If
// the sum is larger than the number of frames with a native, some frame is native on two nodes.
// The paper rules this out: run() then stops and returns false.
//
// The constructor allocates all memory, before any communication. So a node without memory
// cannot block the others in a collective.
#pragma once
#include "coord/ranks/communicator.h"
#include "coord/sets/bitmap.h"

namespace zazen {

class PaperProtocol {
 public:
  explicit PaperProtocol(std::size_t domain_size);

  // Before run(): the frames of the domain that this node holds (steps 1 and 4).
  Bitmap& natives() { return own_; }
  Bitmap& aliens() { return aliens_; }

  // Section 5.1 of the paper: the second reduction even if all frames are native somewhere.
  void force_second_round() { forced_ = true; }

  // Collective; every leader has the same domain. False, on all of them, if a frame is native
  // on two nodes; then there is no result.
  bool run(Communicator& leaders);

  // After run(): the frames that this node signed up for, and the residues of all.
  const Bitmap& own() const { return own_; }
  const Bitmap& residues() const { return residues_; }

 private:
  Bitmap own_;
  Bitmap aliens_;
  Bitmap global_natives_;
  Bitmap residues_;
  ClaimBitmap claims_;
  bool forced_ = false;
};

}  // namespace zazen
