#include "daemon/worker/seating.h"

#include <map>

namespace zazen {

std::optional<std::uint64_t> who_gives_way(std::span<const Seat> seats, uid_t newcomer) {
  std::map<uid_t, std::size_t> connections = {{newcomer, 1}};
  for (const Seat& seat : seats) ++connections[seat.uid];
  uid_t heaviest = newcomer;
  for (const auto& [uid, count] : connections) {
    if (count > connections[heaviest]) heaviest = uid;
  }

  const Seat* chosen = nullptr;
  for (const Seat& seat : seats) {
    if (seat.uid != heaviest || (seat.is_served && heaviest == newcomer)) continue;
    bool sooner = chosen == nullptr ||
                  (seat.is_served != chosen->is_served ? chosen->is_served
                                                       : seat.last_turn < chosen->last_turn);
    if (sooner) chosen = &seat;
  }
  if (chosen == nullptr) return std::nullopt;
  return chosen->client;
}

}  // namespace zazen
