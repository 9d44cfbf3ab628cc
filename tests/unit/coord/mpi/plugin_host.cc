// A small MPI program that plays the shim's part around a plug-in, for plugin_test.
//
//   plugin_host PLUGIN CASE DATASET RUNTIME CACHE
//
// Rank r is on node r % 2, whose directories are RUNTIME<node> and CACHE<node>. Every rank
// "opens" frames by marking them in its tally or ledger, as the case says, and rank 0 waits
// for all of them before it finalizes.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bodhi/lean/run/ledger.h"
#include "cluster_on_disk.h"
#include "coord/plugin.h"

namespace {

using namespace zazen;

const View* adopted_view = nullptr;
Tally* adopted_tally = nullptr;
bool active = false;
int adopt_code = 0;

int adopt(const char* directory, const View** view, Tally** tally) {
  if (adopt_code != 0) return adopt_code;
  if (!map_view(directory, &adopted_view, &adopted_tally)) return EINVAL;
  *view = adopted_view;
  *tally = adopted_tally;
  return 0;
}

constexpr FrameSeq kFramesOfOrigin = 100;

void work_with_view(const std::string& what) {
  const ViewDataset& dataset = adopted_view->datasets[0];
  adopted_tally->datasets[0].listed += 1;
  const std::uint64_t begin =
      what == "slice" ? static_cast<std::uint64_t>(adopted_view->rank) : 0;
  const std::uint64_t step =
      what == "slice" ? static_cast<std::uint64_t>(adopted_view->ranks) : 1;
  for (std::uint64_t i = begin; i < dataset.own_count; i += step) {
    mark_opened(*adopted_view, adopted_tally, dataset,
                own_frame(*adopted_view, dataset, i).seq);
    adopted_tally->hits += 1;
  }
  if (what == "twice") mark_opened(*adopted_view, adopted_tally, dataset, 0);
}

void work_with_ledger(Ledger* ledger, const std::string& path, int rank, int ranks) {
  const std::uint32_t dataset = ledger->dataset_of(text_key(path.c_str()), path.c_str());
  for (FrameSeq f = 0; f < kFramesOfOrigin; ++f) {
    ledger->note(dataset, f, Ledger::kListed);
    if (f % static_cast<FrameSeq>(ranks) == static_cast<FrameSeq>(rank))
      ledger->note(dataset, f, Ledger::kOpened);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const std::string what = argv[2], dataset = argv[3];
  const char* rank_text = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank_text == nullptr) rank_text = std::getenv("PMI_RANK");
  const int rank_before = rank_text == nullptr ? 0 : std::atoi(rank_text);
  const std::string node = std::to_string(rank_before % 2);
  const bool bare = what == "bare" && rank_before == 2;
  if (what == "unadopted" && rank_before == 1) adopt_code = ENOMEM;

  void* library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 3;
  auto entry = reinterpret_cast<PluginEntry>(::dlsym(library, kPluginSymbol));
  if (entry == nullptr || entry()->version != kPluginVersion) return 3;
  const Plugin* plugin = entry();

  const std::string runtime = argv[4] + node;
  std::vector<std::uint64_t> table = make_table(static_cast<std::size_t>(rank_before % 2),
                                                argv[5] + node, {{dataset, "f{seq}"}});
  Ledger* ledger = std::getenv("ZAZEN_REPORT") != nullptr ? make_ledger() : nullptr;
  PluginHost host{kPluginVersion,
                  reinterpret_cast<const Table*>(table.data()),
                  runtime.c_str(),
                  ledger,
                  adopt,
                  [] { active = true; },
                  [] { adopted_view = nullptr; }};
  if (what == "silent") host.audit_seconds = 3;

  errno = EXDEV;
  if (!bare) plugin->before_init(&host);
  if (errno != EXDEV) return 4;
  MPI_Init(&argc, &argv);
  errno = EXDEV;
  if (!bare) plugin->after_init(&host);
  if (errno != EXDEV) return 4;

  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (active)
    work_with_view(what);
  else if (ledger != nullptr)
    work_with_ledger(ledger, dataset, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (what == "later" && rank == 0) std::ofstream(dataset + "/f100") << "late";

  errno = EXDEV;
  if (!bare && !(what == "silent" && rank == 3)) plugin->before_finalize(&host);
  if (errno != EXDEV) return 4;
  MPI_Finalize();
  return 0;
}
