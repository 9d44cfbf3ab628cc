// Finds out whether every rank of MPI_COMM_WORLD has the plug-in (D13).
//
// A rank without it would never enter our collectives, and the job would hang. So each rank
// puts a key into the launcher's key-value store before the real MPI_Init, whose fence
// distributes it. After MPI_Init each rank looks for the keys of all ranks. This needs no
// communication by MPI. The access to the store differs between the MPIs: openmpi/presence.cc
// uses PMIx, mpich/presence.cc uses PMI-1.
#pragma once

// Part of the key: increases with every change of the messages between the ranks or of their
// order. So plug-ins of two versions do not recognise each other.
#define ZAZEN_MESSAGES "9"

namespace zazen {

// To be called before MPI_Init. False without a launcher whose store can be reached.
bool announce_presence();

struct Obstacle {
  const char* what = nullptr;  // null: there is none
  // The store does not tell, so the user's guarantee counts (ZAZEN_FILTER=on).
  bool can_be_vouched_for = false;
  int missing = -1;  // the lowest rank without a key, if the store told
  int speaker = 0;   // the lowest rank with a key
};

inline constexpr char kSomebodyIsMissing[] = "not every rank proved that it runs under Zazen";
inline constexpr char kNoStore[] =
    "not every rank could prove that it runs under Zazen: the launcher has no store for it "
    "(ZAZEN_FILTER=on vouches for all)";

// Calls has_word(rank) for every rank; it is true for our own.
template <class HasWord>
Obstacle look_for_all(int ranks, HasWord has_word) {
  Obstacle obstacle;
  for (int rank = 0; rank < ranks; ++rank) {
    if (has_word(rank)) continue;
    obstacle.what = kSomebodyIsMissing;
    obstacle.missing = rank;
    break;
  }
  if (obstacle.missing != 0) return obstacle;
  for (obstacle.speaker = 1; obstacle.speaker < ranks - 1; ++obstacle.speaker)
    if (has_word(obstacle.speaker)) break;
  return obstacle;
}

// To be called after MPI_Init, once: whether all `ranks` ranks announced themselves and may
// communicate with each other. All ranks get the same result.
Obstacle find_obstacle(int ranks);

}  // namespace zazen
