// The steps are numbered as in the paper.
#include "coord/paper.h"

#include <algorithm>
#include <limits>

#include "coord/rules.h"

namespace zazen {

PaperProtocol::PaperProtocol(std::size_t domain_size)
    : own_(domain_size),
      aliens_(domain_size),
      global_natives_(domain_size),
      residues_(domain_size),
      claims_(domain_size),
      holders_(std::min(domain_size, kContestedAtOnce)) {}

void PaperProtocol::run(Communicator& leaders) {
  // Step 1, the local native bitmap, is the caller's. Step 2: the global native bitmap.
  std::ranges::copy(own_.words(), global_natives_.words().begin());
  leaders.all_or(global_natives_.words());

  std::uint64_t held[] = {own_.count()};
  leaders.all_sum(held);
  const std::size_t natives = global_natives_.count();
  if (held[0] > natives) resolve_contested_natives(leaders);

  // Step 3: all native somewhere, and everybody knows his own.
  if (natives == global_natives_.size()) return;

  // Step 4: the local alien bitmap, without what is native anywhere.
  drop_aliens_of_natives(global_natives_, &aliens_);
  claims_.claim(aliens_);

  // Step 5: the global alien bitmap.
  leaders.all_combine_aliens(claims_.words());

  // Step 6: the aliens that this node alone holds.
  add_sole_aliens(aliens_, claims_, &own_);

  // Step 7: what nobody signed up for. Each rank takes the block of its own rank.
  find_residues(global_natives_, claims_, &residues_);
}

void PaperProtocol::resolve_contested_natives(Communicator& leaders) {
  constexpr std::uint64_t nobody = std::numeric_limits<std::uint64_t>::max();
  const auto me = static_cast<std::uint64_t>(leaders.rank());
  claims_.claim(own_);
  leaders.all_combine_aliens(claims_.words());

  // The residues are not known yet; their memory serves for the contested frames.
  Bitmap& contested = residues_;
  find_contested(claims_, &contested);

  // Every leader sees the same contested frames, hence the same pieces.
  std::size_t filled = 0;
  std::vector<std::uint64_t>& holders = holders_;
  std::size_t first_index = 0;
  auto settle = [&] {
    std::span<std::uint64_t> piece(holders.data(), filled);
    leaders.all_min(piece);
    std::size_t position = 0;
    for (std::size_t i = first_index; position < filled; ++i) {
      if (!contested.test(i)) continue;
      if (piece[position++] != me) own_.clear(i);
    }
    filled = 0;
  };
  contested.for_each([&](std::size_t i) {
    if (filled == 0) first_index = i;
    holders[filled++] = own_.test(i) ? me : nobody;
    if (filled == holders.size()) settle();
  });
  if (filled != 0) settle();
  std::ranges::fill(residues_.words(), 0);
}

}  // namespace zazen
