#include "bodhi/lean/system/launcher.h"

#include <climits>
#include <cstring>

#include "bodhi/lean/system/variables.h"

namespace zazen {
namespace {

struct PlaceVariable {
  char name[32];  // with its '='
};
// A batch script has SLURM_NTASKS, too, but is one process: only a step's rank counts.
constexpr PlaceVariable kRanks[] = {
    {"OMPI_COMM_WORLD_RANK="}, {"PMIX_RANK="}, {"PMI_RANK="}, {"SLURM_PROCID="}};
constexpr PlaceVariable kSizes[] = {
    {"OMPI_COMM_WORLD_SIZE="}, {"PMI_SIZE="}, {"SLURM_STEP_NUM_TASKS="}};
constexpr PlaceVariable kLocalRanks[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK="}, {"MPI_LOCALRANKID="}, {"SLURM_LOCALID="}};

// Takes the number, if the entry is one of the variables and precedes *best in the table.
template <int kCount>
void take(const PlaceVariable (&list)[kCount], const char* entry, int* best, long* number) {
  for (int i = 0; i < kCount && i < *best; ++i) {
    const std::size_t length = std::strlen(list[i].name);
    std::uint64_t value = 0;
    if (std::strncmp(entry, list[i].name, length) != 0) continue;
    if (!read_number(entry + length, &value) || value > LONG_MAX) return;
    *number = static_cast<long>(value);
    *best = i;
  }
}

}  // namespace

LauncherPlace launcher_place(const char* const* environment) {
  LauncherPlace place;
  int best_rank = INT_MAX, best_size = INT_MAX, best_local = INT_MAX;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const char first = **environment;
    if (first != 'O' && first != 'P' && first != 'S' && first != 'M') continue;
    take(kRanks, *environment, &best_rank, &place.rank);
    take(kSizes, *environment, &best_size, &place.size);
    take(kLocalRanks, *environment, &best_local, &place.local_rank);
  }
  return place;
}

}  // namespace zazen
