// zazen-bench: the benchmarks, one subcommand each.
#include "tools/bench/benchmarks/benchmarks.h"
#include "tools/bench/protocol/protocol_start.h"

namespace zazen {
namespace {

void add_protocol_bench(CommandLine& line) {
  static std::uint64_t frames = 10'000'000;
  static std::string workload = "roundrobin";
  line.program(
          "protocol", "Assign frames by both algorithms, under mpirun; each rank is a node.",
          "\nroundrobin: each frame native on one node, in random order; blocks: natives in "
          "blocks, all\nothers aliens; holes: roundrobin with 5% of the frames nowhere, 5% "
          "aliens on several.\n\nExample:\n"
          "  mpirun -n 8 zazen-bench protocol --frames 1e9 --workload holes --json\n",
          [&line]() -> Figures { throw start_protocol_bench(frames, workload, line.json()); })
      .frames(&frames, 1, 1e10, "How many frames (default: 1e7)")
      .choice("--workload", "NAME", &workload, {"roundrobin", "blocks", "holes"},
              "What the nodes hold (default: roundrobin)");
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  zazen::CommandLine line;
  zazen::add_shim_bench(line);
  zazen::add_listing_bench(line);
  zazen::add_restart_bench(line);
  zazen::add_protocol_bench(line);
  zazen::add_fills_bench(line);
  zazen::add_clients_bench(line);
  zazen::add_first_miss_bench(line);
  zazen::add_changes_bench(line);
  zazen::add_misses_bench(line);
  zazen::add_drops_bench(line);
  zazen::add_hook_bench(line);
  zazen::add_push_bench(line);
  zazen::add_readers_bench(line);
  return line.run(argc, argv);
}
