// zazen-bench-protocol FRAMES WORKLOAD [--json]: the two algorithms and the bare reductions of
// the paper's, under mpirun. Each rank is a node of its own. `zazen-bench protocol` starts this
// program, which is separate because it links MPI.
//
// The benchmark measures the part for which MPI_Init would wait: from the packed sets of frames
// that the node holds to its own frames. The slowest rank counts. Each algorithm runs twice,
// and the second run counts, with memory that the process has from the first. So the time in
// which the kernel gives out pages is left out; the paper's bitmaps, too, exist before the
// clock starts. The first run, which begins without spare memory, shows how much memory the
// exchange needs. Afterwards the benchmark checks that every frame is read exactly once.
#include <fmt/core.h>
#include <malloc.h>
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "coord/mpi/mpi_communicator.h"
#include "coord/protocol/exchange.h"
#include "coord/protocol/paper.h"
#include "tools/bench/protocol/workload.h"
#include "tools/bench/support/figures_json.h"

namespace zazen {
namespace {

struct Timed {
  double seconds = 0;
  std::uint64_t peak_bytes = 0;  // of resident memory, of the rank with most
  bool exactly_once = false;
  std::uint64_t least = 0, most = 0;  // frames of a rank
};

class ProtocolBench {
 public:
  ProtocolBench(std::size_t frames, Workload workload)
      : world_(MPI_COMM_WORLD, false),
        me_(static_cast<std::size_t>(world_.rank())),
        nodes_(static_cast<std::size_t>(world_.size())),
        frames_(frames),
        workload_(workload) {}

  Timed exchange() {
    std::vector<NodeHoldings> held(1);
    held[0] = holdings_of(workload_, frames_, me_, nodes_);
    claim_bytes_ = highest(held[0].natives.bytes().size() + held[0].aliens.bytes().size());
    ExchangeProtocol protocol(std::move(held), std::vector<std::uint64_t>(nodes_, 1));
    if (!is_warm_) ::malloc_trim(0);
    forget_peak();
    Timed timed;
    timed.seconds = time([&] { protocol.run(world_); });
    timed.peak_bytes = highest(peak_bytes());
    Bitmap own(frames_);
    unpack(protocol.own(), &own);
    check(std::move(own), &timed);
    return timed;
  }

  Timed paper(const NodeHoldings& held) {
    PaperProtocol protocol(frames_);
    if (workload_ == Workload::kBlocks) protocol.force_second_round();
    Bitmap own(frames_);
    Timed timed;
    timed.seconds = time([&] {
      unpack(held.natives, &protocol.natives());
      unpack(held.aliens, &protocol.aliens());
      if (!protocol.run(world_)) throw std::runtime_error("a frame is native on two nodes");
      adopt(protocol, &own);
    });
    check(std::move(own), &timed);
    return timed;
  }

  // One call for each reduction, as a program of its own would make it.
  double allreduce() {
    std::vector<std::uint64_t> words((frames_ + 63) / 64, me_ + 1);
    double seconds = time([&] {
      PMPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                     MPI_BOR, MPI_COMM_WORLD);
    });
    if (!has_second_round(workload_)) return seconds;
    words.assign((frames_ + 31) / 32, me_ % 3);
    MPI_Op combine = MPI_OP_NULL;
    PMPI_Op_create(
        [](void* in, void* inout, int* length, MPI_Datatype*) {
          const auto size = static_cast<std::size_t>(*length);
          combine_claims({static_cast<std::uint64_t*>(inout), size},
                         {static_cast<const std::uint64_t*>(in), size});
        },
        1, &combine);
    seconds += time([&] {
      PMPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T,
                     combine, MPI_COMM_WORLD);
    });
    PMPI_Op_free(&combine);
    return seconds;
  }

  int run(const char* workload, bool json) {
    const std::uint64_t peak = exchange().peak_bytes;
    is_warm_ = true;
    const Timed exchanged = exchange();
    const NodeHoldings held = holdings_of(workload_, frames_, me_, nodes_);
    paper(held);
    const Timed papered = paper(held);
    allreduce();
    const double reduced = allreduce();
    const bool once = exchanged.exactly_once && papered.exactly_once && !world_.failed();
    if (me_ != 0) return once ? 0 : 1;
    if (json) {
      nlohmann::ordered_json all = {{"workload", workload},
                                    {"frames", frames_},
                                    {"ranks", nodes_},
                                    {"paper_seconds", papered.seconds},
                                    {"exchange_seconds", exchanged.seconds},
                                    {"allreduce_seconds", reduced},
                                    {"claim_bytes_per_rank", claim_bytes_},
                                    {"peak_bytes_per_rank", peak},
                                    {"least_frames", exchanged.least},
                                    {"most_frames", exchanged.most},
                                    {"exactly_once", once}};
      print_figures_json(all);
    } else {
      fmt::print(
          "{} frames, {} ranks, {}: exchange {:.3f} s, paper {:.3f} s ({:.1f} times), its "
          "reductions alone {:.3f} s\n",
          format_count(frames_), nodes_, workload, exchanged.seconds, papered.seconds,
          papered.seconds / exchanged.seconds, reduced);
      fmt::print("  {} to {} frames each; {} of memory at most for a rank{}\n",
                 format_count(exchanged.least), format_count(exchanged.most), format_size(peak),
                 once ? "; each frame exactly once" : "; NOT each frame exactly once");
    }
    return once ? 0 : 1;
  }

 private:
  // Step 7: the block of the residues that belongs to this rank, and the own frames.
  void adopt(const PaperProtocol& protocol, Bitmap* own) const {
    std::span<const std::uint64_t> residues = protocol.residues().words();
    const Block mine = block_of(protocol.residues().count(), me_, nodes_);
    constexpr std::size_t kBlockWords = 1024;
    std::size_t number = 0;
    for (std::size_t at = 0; at < residues.size(); at += kBlockWords) {
      auto block = residues.subspan(at, std::min(kBlockWords, residues.size() - at));
      const std::size_t after = number + count_bits(std::as_bytes(block));
      const bool whole = number >= mine.begin && after <= mine.end;
      const bool some = number < mine.end && after > mine.begin;
      for (std::size_t w = at; w < at + block.size(); ++w) {
        std::uint64_t wanted = whole ? residues[w] : 0;
        if (some && !whole)
          for (std::uint64_t bits = residues[w]; bits != 0; bits &= bits - 1, ++number)
            if (number >= mine.begin && number < mine.end) wanted |= bits & -bits;
        own->words()[w] = protocol.own().words()[w] | wanted;
      }
      number = after;
    }
  }

  template <class Step>
  double time(Step&& step) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = PMPI_Wtime();
    step();
    double seconds = PMPI_Wtime() - begin;
    PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
  }

  // All frames are there, and they are no more than all.
  void check(Bitmap own, Timed* timed) {
    const std::uint64_t mine = own.count();
    std::uint64_t total[] = {mine};
    world_.all_sum(total);
    world_.all_or(own.words());
    timed->exactly_once = total[0] == frames_ && own.full();
    timed->most = highest(mine);
    timed->least = ~highest(~mine);
  }

  std::uint64_t highest(std::uint64_t mine) {
    std::uint64_t inverted[] = {~mine};
    world_.all_min(inverted);
    return ~inverted[0];
  }

  static void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }
  static std::uint64_t peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::strtoull(&line[6], nullptr, 10) * 1024;
    return 0;
  }

  MpiCommunicator world_;
  const std::size_t me_, nodes_, frames_;
  const Workload workload_;
  std::uint64_t claim_bytes_ = 0;
  bool is_warm_ = false;  // memory of an earlier run is kept
};

int protocol_bench(int argc, char** argv) {
  const std::optional<Workload> workload = argc > 2 ? workload_named(argv[2]) : std::nullopt;
  const std::size_t frames = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (frames == 0 || !workload) {
    fmt::print(stderr, "zazen-bench-protocol: error: zazen-bench protocol starts it\n");
    return 2;
  }
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = ProtocolBench(frames, *workload).run(argv[2], argc > 3);
  } catch (const std::exception& e) {
    fmt::print(stderr, "zazen-bench: error: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace
}  // namespace zazen

int main(int argc, char** argv) {
  return zazen::protocol_bench(argc, argv);
}
