// The steps are numbered as in the paper.
#include "coord/protocol/paper.h"

#include <algorithm>

#include "coord/sets/rules.h"

namespace zazen {

PaperProtocol::PaperProtocol(std::size_t domain_size)
    : own_(domain_size),
      aliens_(domain_size),
      global_natives_(domain_size),
      residues_(domain_size),
      claims_(domain_size) {}

bool PaperProtocol::run(Communicator& leaders) {
  // Step 1, the local native bitmap, is the caller's. Step 2: the global native bitmap.
  std::ranges::copy(own_.words(), global_natives_.words().begin());
  leaders.all_or(global_natives_.words());

  std::uint64_t held[] = {own_.count()};
  leaders.all_sum(held);
  const std::size_t natives = global_natives_.count();
  if (held[0] > natives) return false;

  // Step 3: all frames are native somewhere, and each node knows its own.
  if (natives == global_natives_.size() && !forced_) return true;

  // Step 4: the local alien bitmap, without what is native anywhere.
  drop_aliens_of_natives(global_natives_, &aliens_);
  claims_.claim(aliens_);

  // Step 5: the global alien bitmap.
  leaders.all_combine_aliens(claims_.words());

  // Step 6: the aliens that this node alone holds.
  add_sole_aliens(aliens_, claims_, &own_);

  // Step 7: the frames that no node signed up for. Each rank takes the block of its own rank.
  find_residues(global_natives_, claims_, &residues_);
  return true;
}

}  // namespace zazen
