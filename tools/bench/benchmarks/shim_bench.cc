// The machine may have other work to do. So a round starts two processes, one with the shim
// and one without, which take short turns at each case. The ratio of two neighbouring turns
// is hardly disturbed by what lasts longer than both, and the median of these ratios not by
// what hits a few of them. Fresh processes in each round, because where a process happens
// to lie in memory matters too.
#include "tools/bench/benchmarks/shim_bench.h"

#include <sys/mman.h>

#include "bodhi/lean/frames/table.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

constexpr int kTurns = 4;  // of each side, at each case, in a round

Result<WorkerProcess> start_worker(Side side, const Programs& programs,
                                   const BenchLayout& layout) {
  const char* name = side == Side::kShim ? "shim" : "plain";
  return WorkerProcess::start(
      {programs.self, "shim-worker", name, layout.root},
      side == Side::kShim ? shim_environment(programs, layout) : plain_environment());
}

class ShimBench {
 public:
  ShimBench(Programs programs, const BenchLayout& layout, const DatasetCounters& counters)
      : programs_(std::move(programs)), layout_(layout), counters_(counters) {}

  Status run_round(int round) {
    std::uint64_t hits = counters_.hits, misses = counters_.misses;
    auto plain = start_worker(Side::kPlain, programs_, layout_);
    if (!plain) return plain.error();
    auto shim = start_worker(Side::kShim, programs_, layout_);
    if (!shim) return shim.error();

    for (std::size_t i = 0; i < shim_cases().size(); ++i) {
      for (int turn = 0; turn < kTurns; ++turn) {
        // The side that begins changes, so that neither always finds the caches cold.
        bool shim_first = (round + turn) % 2 == 1;
        for (bool is_shim : {shim_first, !shim_first}) {
          auto samples = (is_shim ? shim : plain)->take_turn(shim_cases()[i].name);
          if (!samples) return samples.error();
          (is_shim ? shim_ : plain_)[i].add(*samples);
        }
      }
    }
    if (auto opened = plain->finish(); !opened) return opened.error();
    auto opened = shim->finish();
    if (!opened) return opened.error();
    return check_counters(counters_.hits - hits, counters_.misses - misses, *opened);
  }

  ShimFigures figures(int rounds) const {
    ShimFigures figures;
    figures.hits = hits_;
    figures.rounds = rounds;
    for (std::size_t i = 0; i < shim_cases().size(); ++i) {
      const Samples &plain = plain_[i], &shim = shim_[i];
      std::vector<double> ratios, differences;
      for (std::size_t turn = 0; turn < plain.medians.size(); ++turn) {
        ratios.push_back(shim.medians[turn] / plain.medians[turn]);
        differences.push_back(shim.medians[turn] - plain.medians[turn]);
      }
      figures.cases.push_back({&shim_cases()[i], median(plain.all), percentile(plain.all, 0.99),
                               median(shim.all), percentile(shim.all, 0.99), median(ratios),
                               median(differences)});
    }
    return figures;
  }

 private:
  struct Samples {
    std::vector<double> all;
    std::vector<double> medians;  // of each turn

    void add(const std::vector<double>& turn) {
      medians.push_back(median(turn));
      all.insert(all.end(), turn.begin(), turn.end());
    }
  };

  Status check_counters(std::uint64_t hits, std::uint64_t misses, std::uint64_t opened) {
    hits_ += hits;
    if (hits == opened && misses == 0) return Done{};
    return Error{EPROTO,
                 "the daemon's counters: " + std::to_string(opened) + " frames opened, " +
                     std::to_string(hits) + " hits, " + std::to_string(misses) + " misses",
                 {}};
  }

  Programs programs_;
  const BenchLayout& layout_;
  const DatasetCounters& counters_;
  std::vector<Samples> plain_{shim_cases().size()}, shim_{shim_cases().size()};
  std::uint64_t hits_ = 0;
};

}  // namespace

Result<ShimFigures> measure_shim(const ShimBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<BenchNode> node = BenchNode::start(programs->zazend, options.directory);
  if (!node) return node.error();
  Counters* counters = map_counters(node->layout().runtime().c_str());
  if (counters == nullptr) return Error{EIO, "the daemon's counters", {}};

  ShimBench bench(*programs, node->layout(), counters->datasets[0]);
  for (int i = 0; i < options.rounds; ++i) {
    if (Status done = bench.run_round(i); !done) return done.error();
  }
  munmap(counters, sizeof *counters);
  if (Status stopped = node->stop(); !stopped) return stopped.error();
  return bench.figures(options.rounds);
}

}  // namespace zazen
