#include "bodhi/launcher.h"

#include <climits>
#include <cstring>

#include "bodhi/variables.h"

namespace zazen {
namespace {

struct PlaceVariable {
  char name[24];  // with its '='
};
// A batch script has SLURM_NTASKS, too, and is one process: only a step's number counts.
constexpr PlaceVariable kRanks[] = {
    {"OMPI_COMM_WORLD_RANK="}, {"PMIX_RANK="}, {"PMI_RANK="}, {"SLURM_PROCID="}};
constexpr PlaceVariable kSizes[] = {
    {"OMPI_COMM_WORLD_SIZE="}, {"PMI_SIZE="}, {"SLURM_STEP_NUM_TASKS="}};

// The place of the variable in the list, or -1.
template <int kCount>
int find(const PlaceVariable (&list)[kCount], const char* entry, long* number) {
  for (int i = 0; i < kCount; ++i) {
    const std::size_t length = std::strlen(list[i].name);
    std::uint64_t value = 0;
    if (std::strncmp(entry, list[i].name, length) != 0) continue;
    if (!read_number(entry + length, &value) || value > LONG_MAX) return -1;
    *number = static_cast<long>(value);
    return i;
  }
  return -1;
}

}  // namespace

LauncherPlace launcher_place(const char* const* environment) {
  LauncherPlace place;
  int best_rank = INT_MAX, best_size = INT_MAX;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const char first = **environment;
    if (first != 'O' && first != 'P' && first != 'S') continue;
    long number = 0;
    const int rank = find(kRanks, *environment, &number);
    if (rank >= 0 && rank < best_rank) {
      best_rank = rank;
      place.rank = number;
    }
    const int size = find(kSizes, *environment, &number);
    if (size >= 0 && size < best_size) {
      best_size = size;
      place.size = number;
    }
  }
  return place;
}

}  // namespace zazen
