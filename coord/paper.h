// The paper's protocol: the seven steps of section 4, over the leaders of the nodes.
//
// Two reductions at most: the natives by bitwise or, the aliens by the 2-bit operator; after
// a perfect native hit, one. In addition (D14) the nodes sum up how many natives they hold.
// If that is more than there are frames with a native, a push was repeated on another node,
// and the lowest leader that holds such a frame keeps it.
//
// All memory is taken by the constructor, before any communication, so that running out of
// it cannot leave the others waiting in a collective.
#pragma once
#include <vector>

#include "coord/bitmap.h"
#include "coord/communicator.h"

namespace zazen {

class PaperProtocol {
 public:
  explicit PaperProtocol(std::size_t domain_size);

  // Before run(): the frames of the domain that this node holds (steps 1 and 4).
  Bitmap& natives() { return own_; }
  Bitmap& aliens() { return aliens_; }

  // Collective; every leader has the same domain.
  void run(Communicator& leaders);

  // After run(): the frames that this node signed up for, and the residues of all.
  const Bitmap& own() const { return own_; }
  const Bitmap& residues() const { return residues_; }

 private:
  void resolve_contested_natives(Communicator& leaders);

  static constexpr std::size_t kContestedAtOnce = 4096;

  Bitmap own_;
  Bitmap aliens_;
  Bitmap global_natives_;
  Bitmap residues_;
  ClaimBitmap claims_;
  std::vector<std::uint64_t> holders_;
};

}  // namespace zazen
