// PMIx counts its users: the PMIx_Init and PMIx_Finalize here nest around those of MPI. The
// look-up is IMMEDIATE, so a word that is not there is reported at once; the timeout is for
// a launcher that does not answer.
#include "coord/mpi/presence.h"

#include <pmix.h>

#include <cstdlib>

namespace zazen {
namespace {

// The PMIx interface takes mutable strings that it does not change.
char presence_key[] = "zazen.presence." ZAZEN_MESSAGES;
char presence_word[] = "1";

bool announced = false;
pmix_proc_t me{};

bool is_here(const pmix_proc_t& proc) {
  bool immediate = true;
  int timeout_seconds = 1;
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], PMIX_IMMEDIATE, &immediate, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_seconds, PMIX_INT);
  pmix_value_t* value = nullptr;
  const bool found = PMIx_Get(&proc, presence_key, info, 2, &value) == PMIX_SUCCESS;
  if (value != nullptr) PMIX_VALUE_RELEASE(value);
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);
  return found;
}

}  // namespace

bool announce_presence() {
  if (::secure_getenv("PMIX_NAMESPACE") == nullptr || ::secure_getenv("PMIX_RANK") == nullptr)
    return false;
  if (PMIx_Init(&me, nullptr, 0) != PMIX_SUCCESS) return false;
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, presence_word, PMIX_STRING);
  announced = PMIx_Put(PMIX_GLOBAL, presence_key, &value) == PMIX_SUCCESS &&
              PMIx_Commit() == PMIX_SUCCESS;
  PMIX_VALUE_DESTRUCT(&value);
  if (!announced) PMIx_Finalize(nullptr, 0);
  return announced;
}

const char* why_not_to_meet(int ranks) {
  if (!announced) return ranks == 1 ? nullptr : kSomebodyIsMissing;
  bool all = true;
  for (int rank = 0; all && ranks > 1 && rank < ranks; ++rank) {
    pmix_proc_t proc = me;
    proc.rank = static_cast<pmix_rank_t>(rank);
    all = is_here(proc);
  }
  // Balances the PMIx_Init above; MPI keeps its own reference.
  PMIx_Finalize(nullptr, 0);
  announced = false;
  return all ? nullptr : kSomebodyIsMissing;
}

}  // namespace zazen
