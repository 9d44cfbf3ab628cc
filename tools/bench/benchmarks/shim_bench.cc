// `zazen-bench shim`: what the shim costs a program, as ratios to the same calls without it.
//
// The machine may have other work to do. So a round starts two processes, one with the shim and
// one without, which take short turns at each case. Other work that lasts longer than two
// neighbouring turns hardly disturbs their ratio. Other work that hits a few turns does not
// disturb the median of the ratios. Fresh processes in each round, because where a process
// happens to lie in memory matters too.
#include "tools/bench/benchmarks/benchmarks.h"

#include <sys/mman.h>

#include <cmath>

#include "bodhi/lean/frames/table.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/worker.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct ShimOptions {
  int rounds = 30;
};

constexpr int kTurns = 4;  // of each side, at each case, in a round

double rounded(double value, double steps) {
  return std::round(value * steps) / steps;
}

WorkerProcess start_worker(Side side, const Programs& programs, const BenchLayout& layout) {
  const char* name = side == Side::kShim ? "shim" : "plain";
  return take(WorkerProcess::start(
      {programs.self, "shim-worker", name, layout.root},
      side == Side::kShim ? shim_environment(programs, layout) : plain_environment()));
}

class ShimBench {
 public:
  ShimBench(Programs programs, const BenchLayout& layout, const DatasetCounters& counters)
      : programs_(std::move(programs)), layout_(layout), counters_(counters) {}

  void run_round(int round) {
    std::uint64_t hits = counters_.hits, misses = counters_.misses;
    WorkerProcess plain = start_worker(Side::kPlain, programs_, layout_);
    WorkerProcess shim = start_worker(Side::kShim, programs_, layout_);

    for (std::size_t i = 0; i < shim_cases().size(); ++i) {
      for (int turn = 0; turn < kTurns; ++turn) {
        // The side that begins changes, so that neither always finds the caches cold.
        bool shim_first = (round + turn) % 2 == 1;
        for (bool is_shim : {shim_first, !shim_first}) {
          auto samples = take((is_shim ? shim : plain).take_turn(shim_cases()[i].name));
          (is_shim ? shim_ : plain_)[i].add(samples);
        }
      }
    }
    take(plain.finish());
    auto opened = take(shim.finish());
    check_counters(counters_.hits - hits, counters_.misses - misses, opened);
  }

  Figures figures(int rounds) const {
    Figures cases = Figures::array();
    double exec_added_us = 0;
    for (std::size_t i = 0; i < shim_cases().size(); ++i) {
      const Case& what = shim_cases()[i];
      const Turns &plain = plain_[i], &shim = shim_[i];
      if (what.kind == CaseKind::kExec) {
        exec_added_us = median(differences(shim.medians, plain.medians)) / 1000;
      }
      cases.push_back({{"name", what.name},
                       {"bytes", what.bytes},
                       {"plain_ns_p50", rounded(median(plain.all), 10)},
                       {"plain_ns_p99", rounded(percentile(plain.all, 0.99), 10)},
                       {"shim_ns_p50", rounded(median(shim.all), 10)},
                       {"shim_ns_p99", rounded(percentile(shim.all, 0.99), 10)},
                       {"ratio", rounded(median(ratios(shim.medians, plain.medians)), 1e4)}});
    }
    return {{"cases", cases},
            {"exec_added_us", rounded(exec_added_us, 10)},
            {"hits", hits_},
            {"rounds", rounds}};
  }

 private:
  void check_counters(std::uint64_t hits, std::uint64_t misses, std::uint64_t opened) {
    hits_ += hits;
    if (hits == opened && misses == 0) return;
    throw Error{EPROTO,
                "the daemon's counters: " + std::to_string(opened) + " frames opened, " +
                    std::to_string(hits) + " hits, " + std::to_string(misses) + " misses",
                {}};
  }

  Programs programs_;
  const BenchLayout& layout_;
  const DatasetCounters& counters_;
  std::vector<Turns> plain_{shim_cases().size()}, shim_{shim_cases().size()};
  std::uint64_t hits_ = 0;
};

// An error if anything was measured that was not meant: a frame that did not come from the
// cache, wrong bytes, hits that do not add up.
Figures measure(const BenchPlace& place, const ShimOptions& options) {
  BenchNode node = BenchNode::start(place);
  Counters* counters = map_counters(node.layout().runtime().c_str());
  if (counters == nullptr) throw Error{EIO, "the daemon's counters", {}};

  ShimBench bench(place.programs, node.layout(), counters->datasets[0]);
  for (int i = 0; i < options.rounds; ++i) bench.run_round(i);
  munmap(counters, sizeof *counters);
  node.stop();
  return bench.figures(options.rounds);
}

}  // namespace

void add_shim_bench(CommandLine& line) {
  static ShimOptions options;
  line.benchmark(
          "shim", "Compare calls through the shim with the same calls without it.",
          "\nIt measures reading and stat of cached frames, open and stat of other files, and "
          "exec.\nIt starts a zazend of its own in a temporary directory, and leaves nothing "
          "behind.\nThe ratio is the median, over pairs of short turns, of the shim's p50 by "
          "the plain p50.\n\nExample:\n  zazen-bench shim --rounds 100\n",
          [](const BenchPlace& place) { return measure(place, options); })
      .number("--rounds", &options.rounds, 1, 100'000,
              "How often to measure all; more is steadier (default: 30)");
  line.worker("shim-worker", 2, [](const auto& words) {
    return shim_worker(words[0] == "shim" ? Side::kShim : Side::kPlain, words[1]);
  });
}

}  // namespace zazen
