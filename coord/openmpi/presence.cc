// PMIx counts its users: the PMIx_Init and PMIx_Finalize here nest around those of MPI. The
// look-up is IMMEDIATE, so a missing key is reported at once. A launcher that does not answer
// in time is asked again. All ranks must come to the same result, because ranks that find all
// keys wait for each other without a limit.
//
// Slurm 22.05 lets ranks leave MPI_Init while others are still in it, and a message to one of
// these crashes it. So there the ranks first wait for each other by more keys, in a
// dissemination barrier. Each rank puts a key for each round. It goes on to the next round when
// the rank 1, 2, 4, ... before it has put its key. A rank at the end knows that all have begun.
// The keys also carry whether a rank has missed another one. Such a rank puts the keys of all
// remaining rounds and stops waiting.
#include "coord/mpi/presence.h"

#include <mpi.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace zazen {
namespace {

// The PMIx interface takes mutable strings, but does not change them.
char presence_key[] = "zazen.presence." ZAZEN_MESSAGES;
constexpr useconds_t kShortestPauseUs = 500, kLongestPauseUs = 20'000;

bool announced = false;
pmix_proc_t me{};

bool put_value(const char* key, std::uint32_t number) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
  const bool put =
      PMIx_Put(PMIX_GLOBAL, key, &value) == PMIX_SUCCESS && PMIx_Commit() == PMIX_SUCCESS;
  PMIX_VALUE_DESTRUCT(&value);
  return put;
}

// `how` is PMIX_IMMEDIATE or PMIX_GET_REFRESH_CACHE.
pmix_status_t get_value(int rank, const char* key, const char* how, bool set,
                        std::uint32_t* word) {
  pmix_proc_t proc = me;
  proc.rank = static_cast<pmix_rank_t>(rank);
  int timeout_seconds = 1;
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], how, &set, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_seconds, PMIX_INT);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&proc, key, info, 2, &value);
  if (value != nullptr) {
    *word = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
  }
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);
  return status;
}

bool is_present(int rank) {
  std::uint32_t word = 0;
  pmix_status_t status;
  do status = get_value(rank, presence_key, PMIX_IMMEDIATE, true, &word);
  while (status == PMIX_ERR_TIMEOUT);
  return status == PMIX_SUCCESS;
}

bool is_slurm() {
  return std::string_view(me.nspace).starts_with("slurm.");
}

// A key that was put after MPI_Init is found on another host only with a refreshed cache, and
// on this host only without (PMIx 4.2). So both are tried in turn. Meanwhile MPI processes
// messages that another tool's MPI_Init may have begun.
std::uint32_t wait_for_value(int rank, const char* key) {
  std::uint32_t word = 0;
  useconds_t pause = kShortestPauseUs;
  for (bool refresh = false;
       get_value(rank, key, PMIX_GET_REFRESH_CACHE, refresh, &word) != PMIX_SUCCESS;
       refresh = !refresh) {
    int arrived = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    ::usleep(pause);
    pause = std::min(pause + pause / 16, kLongestPauseUs);
  }
  return word;
}

// Has every rank left MPI_Init, and found all keys?
bool all_have_left(int ranks, bool found_all) {
  const int rank = static_cast<int>(me.rank);
  for (int distance = 1; distance < ranks; distance *= 2) {
    char key[sizeof presence_key + 32];
    std::snprintf(key, sizeof key, "%s.left.%d", presence_key, distance);
    put_value(key, found_all ? 1 : 0);
    found_all = found_all && wait_for_value((rank + ranks - distance) % ranks, key) == 1;
  }
  return found_all;
}

// The launcher's store is authoritative; the user cannot guarantee the contrary.
Obstacle obstacle_in_store(int ranks) {
  if (ranks == 1) return {};
  Obstacle obstacle = look_for_all(ranks, is_present);
  if (is_slurm() && !all_have_left(ranks, obstacle.what == nullptr))
    obstacle.what = kSomebodyIsMissing;
  return obstacle;
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
  announced = put_value(presence_key, 1);
  if (!announced) PMIx_Finalize(nullptr, 0);
  return announced;
}

Obstacle find_obstacle(int ranks) {
  if (!announced) return {ranks == 1 ? nullptr : kNoStore, true};
  const PmixGuest guest;
  return obstacle_in_store(ranks);
}

}  // namespace zazen
