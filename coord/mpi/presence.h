// Does every rank of MPI_COMM_WORLD have the plug-in? (D13)
//
// A rank without it would never enter our collectives, and the job would hang. So each rank
// leaves a word in the launcher's key-value store before the real MPI_Init, whose fence
// carries it to all, and looks for everybody's word after it. No communication is involved.
// How to reach the store is what differs between the MPIs: openmpi/presence.cc by PMIx,
// mpich/presence.cc by PMI-1.
#pragma once

// Part of the word: counts up with every change of what the ranks tell each other and in which
// order, so that plug-ins of two versions are strangers to each other.
#define ZAZEN_MESSAGES "8"

namespace zazen {

// Before MPI_Init. False without a launcher whose store can be reached.
bool announce_presence();

struct Obstacle {
  const char* what = nullptr;  // null: there is none
  // Nobody could know better than the user who vouches for it (ZAZEN_FILTER=on).
  bool can_be_vouched_for = false;
  int missing = -1;  // the lowest rank without a word, if the store told
  int speaker = 0;   // the lowest rank with one
};

inline constexpr char kSomebodyIsMissing[] = "not every rank proved that it runs under Zazen";
inline constexpr char kNoStore[] =
    "not every rank could prove that it runs under Zazen: the launcher has no store for it "
    "(ZAZEN_FILTER=on vouches for all)";

// Asks has_word(rank) for every rank, which is true of our own.
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

// After MPI_Init, once: whether all `ranks` ranks announced themselves and can be let talk to
// each other. All ranks find the same.
Obstacle find_obstacle(int ranks);

}  // namespace zazen
