// PMIx counts its users: the PMIx_Init and PMIx_Finalize here nest around those of MPI. The
// look-up is IMMEDIATE, so a word that is not there is reported at once; the timeout is for
// a launcher that does not answer.
//
// Slurm 22.05 lets ranks out of MPI_Init while others are still in it, and a message to one of
// these crashes it. So there the ranks first wait for each other, by more words: each rank says
// that it has come to a round, and goes on to the next once the rank 1, 2, 4, ... before it has
// said so. Who has come to the end knows that all have begun (a dissemination barrier). Unlike
// a fence of PMIx it can be given up by one rank without confusing the fence of MPI_Finalize.
// All that twice: a rank that comes after the others have given up finds their words of the
// first time, but not of the second. Alone in the meeting it would get out of step with them,
// and the program's own non-blocking collectives would fail.
#include "coord/mpi/presence.h"

#include <pmix.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "coord/mpi/clock.h"

namespace zazen {
namespace {

// The PMIx interface takes mutable strings that it does not change.
char presence_key[] = "zazen.presence." ZAZEN_MESSAGES;
char presence_word[] = "1";

constexpr double kRoundsSeconds = 10.0;
constexpr useconds_t kPauseMicroseconds = 500;

bool announced = false;
pmix_proc_t me{};

bool put_word(const char* key) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, presence_word, PMIX_STRING);
  const bool put =
      PMIx_Put(PMIX_GLOBAL, key, &value) == PMIX_SUCCESS && PMIx_Commit() == PMIX_SUCCESS;
  PMIX_VALUE_DESTRUCT(&value);
  return put;
}

// How is PMIX_IMMEDIATE, or PMIX_GET_REFRESH_CACHE.
bool has_word(int rank, const char* key, const char* how, bool set) {
  pmix_proc_t proc = me;
  proc.rank = static_cast<pmix_rank_t>(rank);
  int timeout_seconds = 1;
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], how, &set, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_seconds, PMIX_INT);
  pmix_value_t* value = nullptr;
  const bool found = PMIx_Get(&proc, key, info, 2, &value) == PMIX_SUCCESS;
  if (value != nullptr) PMIX_VALUE_RELEASE(value);
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);
  return found;
}

bool is_slurm() {
  return std::string_view(me.nspace).starts_with("slurm.");
}

// A word that was put after MPI_Init is found on another host only with a refreshed cache, and
// on this one only without (PMIx 4.2): so both, by turns.
bool comes(int rank, const char* key, double deadline) {
  for (bool refresh = false; !has_word(rank, key, PMIX_GET_REFRESH_CACHE, refresh);
       refresh = !refresh) {
    if (seconds_now() > deadline) return false;
    ::usleep(kPauseMicroseconds);
  }
  return true;
}

bool all_come(int ranks, const char* where) {
  const double deadline = seconds_now() + kRoundsSeconds;
  const int rank = static_cast<int>(me.rank);
  for (int distance = 1; distance < ranks; distance *= 2) {
    const std::string key = presence_key + (where + std::to_string(distance));
    if (!put_word(key.c_str()) ||
        !comes((rank + ranks - distance) % ranks, key.c_str(), deadline))
      return false;
  }
  return true;
}

// What the launcher's store tells is known: nobody can vouch for the contrary.
const char* obstacle_in_store(int ranks) {
  if (ranks == 1) return nullptr;
  for (int rank = 0; rank < ranks; ++rank)
    if (!has_word(rank, presence_key, PMIX_IMMEDIATE, true)) return kSomebodyIsMissing;
  if (is_slurm() && !(all_come(ranks, ".left.") && all_come(ranks, ".knows.")))
    return "not every rank had left MPI_Init within 10 s";
  return nullptr;
}

// Balances the PMIx_Init of announce_presence(); MPI keeps its own reference.
struct PmixGuest {
  ~PmixGuest() {
    PMIx_Finalize(nullptr, 0);
    announced = false;
  }
};

}  // namespace

bool announce_presence() {
  if (::secure_getenv("PMIX_NAMESPACE") == nullptr || ::secure_getenv("PMIX_RANK") == nullptr)
    return false;
  if (PMIx_Init(&me, nullptr, 0) != PMIX_SUCCESS) return false;
  announced = put_word(presence_key);
  if (!announced) PMIx_Finalize(nullptr, 0);
  return announced;
}

Obstacle find_obstacle(int ranks) {
  if (!announced) return {ranks == 1 ? nullptr : kSomebodyIsMissing, true};
  const PmixGuest guest;
  return {obstacle_in_store(ranks)};
}

}  // namespace zazen
