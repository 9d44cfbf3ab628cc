// `zazen-bench hook`: what the hook behind MPI_Init costs a job. Real daemons, each with its
// part of the frames, a real mpirun, and a program that calls MPI_Init, opens one frame and
// ends.
//
// The frames are empty files, dealt out round robin as natives. They are put into the caches
// before the daemons start: a push would flush each of a million. Shuffled, neither their inode
// numbers nor what a node holds can be told in a few words.
#include "tools/bench/benchmarks/benchmarks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "bodhi/node/seqlog.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"

namespace zazen {
namespace {

struct HookOptions {
  std::string origin;                // where the frames are; "": there, too
  std::uint64_t frames = 1'000'000;  // of each dataset
  int datasets = 1;                  // the program reads the first
  int ranks = 8;
  int nodes = 8;
  int rounds = 10;
  bool shuffled = false;  // frames were written in no order, and lie on the nodes at random
};

constexpr auto kSettles = std::chrono::milliseconds(2'500);  // a listing can be kept by then
constexpr auto kPatience = std::chrono::minutes(10);
constexpr std::size_t kBatch = 10'000;

struct HookCopies {  // of one dataset on one node
  std::string path;  // the dataset's directory in the cache
  UniqueFd directory;
  std::vector<FrameSeq> frames;  // not yet in the log
};

BenchLayout make_node(const std::string& root, const std::vector<std::string>& datasets,
                      int number) {
  BenchLayout node{root + "/n" + std::to_string(number)};
  std::error_code error;
  std::filesystem::create_directories(node.runtime(), error);
  std::filesystem::create_directories(node.cache(), error);
  for (const std::string& path : {node.cache(), node.runtime()})
    if (chmod(path.c_str(), 0700) != 0) throw last_error(path);
  std::ofstream config(node.config());
  config << "node = \"n" << number << "\"\nread_order = \"none\"\ncache = \"" << node.cache()
         << "\"\nruntime = \"" << node.runtime() << "\"\n";
  for (const std::string& dataset : datasets)
    config << "\n[[dataset]]\npath = \"" << dataset << "\"\nframes = \"" << kFrameTemplate
           << "\"\n";
  return node;
}

HookCopies make_copies(const BenchLayout& node, const std::string& dataset) {
  HookCopies copies{node.cache() + dataset, {}, {}};
  std::error_code error;
  std::filesystem::create_directories(copies.path + "/" + kDatasetStateDirectory, error);
  copies.directory = UniqueFd(open(copies.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copies.directory.valid()) throw last_error(copies.path);
  return copies;
}

void make_frame(int origin, const HookCopies& copies, FrameSeq seq) {
  const std::string name = "f" + std::to_string(seq);
  UniqueFd frame(openat(origin, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  struct stat st;
  if (!frame.valid() || fstat(frame.get(), &st) != 0) throw last_error(name);
  UniqueFd copy(openat(copies.directory.get(), name.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.valid()) throw last_error(copies.path + "/" + name);
  int code = write_identity(copy.get(), identity_of(st, FrameKind::kNative, 0));
  if (code != 0) throw Error{code, copies.path + "/" + name, {}};
  if (fchmod(copy.get(), kCopyMode) != 0) throw last_error(copies.path + "/" + name);
}

// The frames as they are written: number k goes to node k modulo the number of nodes.
std::vector<FrameSeq> order_of_frames(const HookOptions& options) {
  std::vector<FrameSeq> order(options.frames);
  std::iota(order.begin(), order.end(), FrameSeq{0});
  if (options.shuffled) std::ranges::shuffle(order, std::mt19937_64(5));
  return order;
}

void make_frames(const std::string& dataset, const std::vector<BenchLayout>& nodes,
                 const std::vector<FrameSeq>& order) {
  std::vector<HookCopies> all;
  for (const BenchLayout& node : nodes) {
    all.push_back(make_copies(node, dataset));
  }
  if (mkdir(dataset.c_str(), 0755) != 0) throw last_error(dataset);
  UniqueFd origin(open(dataset.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!origin.valid()) throw last_error(dataset);
  for (std::size_t k = 0; k < order.size(); ++k) {
    HookCopies& copies = all[k % all.size()];
    make_frame(origin.get(), copies, order[k]);
    copies.frames.push_back(order[k]);
    if (interruption() != 0) throw Error{EINTR, dataset, {}};
  }
  for (HookCopies& copies : all) {
    SequenceLog log = take(SequenceLog::open(copies.directory.get(), kNativeLog));
    std::span<const FrameSeq> rest = copies.frames;
    while (!rest.empty()) {
      const auto some = rest.first(std::min(kBatch, rest.size()));
      take(log.append(some, {}));
      rest = rest.subspan(some.size());
    }
  }
}

struct RankTimes {
  double first_rank = 0;  // MPI_Init of rank 0
  double all = 0;         // from the first call of it to the last return
  double cpu = 0;         // of all
  double frame = 0;       // from there until the slowest rank has opened a frame
};

class HookJobs {
 public:
  HookJobs(const Programs& programs, const HookOptions& options, std::string root,
           std::vector<std::string> frames, const std::vector<BenchLayout>& nodes)
      : programs_(programs),
        options_(options),
        root_(std::move(root)),
        frames_(std::move(frames)),
        nodes_(nodes) {
    environment_ = plain_environment();
    // As many ranks as asked for, on whatever machine this is.
    for (const char* more :
         {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
          "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_mpi_yield_when_idle=1",
          "OMPI_MCA_hwloc_base_binding_policy=none", "OMPI_MCA_btl=self,vader"})
      environment_.emplace_back(more);
  }

  RankTimes run(bool with_shim) {
    std::vector<std::string> command{ZAZEN_MPIRUN};
    const auto nodes = static_cast<int>(nodes_.size());
    for (int n = 0; n < nodes; ++n) {
      const int ranks = options_.ranks * (n + 1) / nodes - options_.ranks * n / nodes;
      if (ranks == 0) continue;
      if (command.size() > 1) command.emplace_back(":");
      for (const std::string& word : {std::string("-n"), std::to_string(ranks)})
        command.push_back(word);
      if (with_shim)
        for (const std::string& word :
             {std::string("env"), "LD_PRELOAD=" + programs_.shim,
              "ZAZEN_CONFIG=" + nodes_[static_cast<std::size_t>(n)].config(),
              "ZAZEN_REPORT=" + report_file()})
          command.push_back(word);
      command.push_back(programs_.self + "-hook-worker");
      command.push_back(frames_[static_cast<std::size_t>(n)]);
    }
    const std::string output = root_ + "/output";
    UniqueFd out(open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!out.valid()) throw last_error(output);
    ChildProcess mpirun = take(ChildProcess::start(command, environment_, {-1, out.get(), -1}));
    wait_for(mpirun);
    return read_times(output);
  }

  nlohmann::json report() const {
    std::ifstream file(report_file());
    nlohmann::json report = nlohmann::json::parse(file, nullptr, false);
    if (report.is_discarded() || !report.value("filtered", false))
      throw Error{EPROTO, "the job was not filtered: " + report.dump(), {}};
    return report;
  }

 private:
  std::string report_file() const { return root_ + "/report.json"; }

  static void wait_for(ChildProcess& mpirun) {
    auto is_done = [&]() -> Result<bool> {
      const std::optional<int> status = mpirun.ended();
      if (!status) return false;
      if (*status == 0) return true;
      return Error{EPROTO, fmt::format("mpirun failed with status {}", *status), {}};
    };
    take(wait_until("mpirun", is_done, std::chrono::milliseconds(5), kPatience));
  }

  RankTimes read_times(const std::string& output) const {
    RankTimes times;
    std::ifstream file(output);
    int rank = 0, seen = 0;
    double first = 0, last = 0, opened = 0;
    for (double began = 0, ended = 0, used = 0, open = 0;
         file >> rank >> began >> ended >> used >> open; ++seen) {
      if (rank == 0) times.first_rank = ended - began;
      first = seen == 0 ? began : std::min(first, began);
      last = std::max(last, ended);
      opened = std::max(opened, open);
      times.cpu += used;
    }
    if (seen != options_.ranks) throw Error{EPROTO, "a rank is missing", {}};
    times.all = last - first;
    times.frame = opened - last;
    return times;
  }

  const Programs& programs_;
  const HookOptions& options_;
  std::string root_;
  std::vector<std::string> frames_;  // one that each node holds
  const std::vector<BenchLayout>& nodes_;
  std::vector<std::string> environment_;
};

Figures measure_rounds(HookJobs& jobs, const HookOptions& options) {
  std::vector<double> protocol, added, added_to_last, cpu, frame, plain_frame;
  double listing_seconds = 0;  // of the job that found no listing
  std::map<std::string, std::vector<double>> phases;
  for (int round = -1; round < options.rounds; ++round) {
    RankTimes plain = jobs.run(false);
    RankTimes shim = jobs.run(true);
    nlohmann::json report = jobs.report();
    if (round < 0) {  // this one lists
      listing_seconds = report.at("listing_seconds");
      continue;
    }
    if (report.at("listing_seconds").get<double>() != 0)
      throw Error{EPROTO, "the listing was not kept", {}};
    added.push_back(shim.first_rank - plain.first_rank);
    added_to_last.push_back(shim.all - plain.all);
    cpu.push_back(shim.cpu - plain.cpu);
    frame.push_back(shim.frame);
    plain_frame.push_back(plain.frame);
    protocol.push_back(report.at("protocol_seconds"));
    for (const auto& [name, seconds] : report.at("phases").items())
      phases[name].push_back(seconds);
  }
  Figures figures = {
      {"frames", options.frames},
      {"ranks", options.ranks},
      {"nodes", options.nodes},
      {"rounds", options.rounds},
      {"datasets", options.datasets},
      {"shuffled", options.shuffled},
      // Rank 0's.
      {"protocol_seconds", median(protocol)},
      {"protocol_seconds_least", percentile(protocol, 0)},
      {"listing_seconds", listing_seconds},
      // To MPI_Init on rank 0, and until the last rank is back from it: medians of differences.
      {"added_seconds", median(added)},
      {"added_to_last_seconds", median(added_to_last)},
      // Of all ranks until MPI_Init returns.
      {"cpu_seconds", median(cpu)},
      // From the last return until every rank has one open.
      {"first_frame_seconds", median(frame)},
      {"plain_first_frame_seconds", median(plain_frame)}};
  for (const auto& [name, samples] : phases) figures["phases"][name] = median(samples);
  return figures;
}

Figures measure(const BenchPlace& place, const HookOptions& options) {
  TemporaryDirectory origin =
      TemporaryDirectory::make(options.origin.empty() ? place.root : options.origin);
  std::vector<std::string> datasets;
  for (int d = 1; d <= options.datasets; ++d)
    datasets.push_back(origin.path() + "/sim" + std::to_string(d));
  std::vector<BenchLayout> nodes;
  for (int n = 0; n < options.nodes; ++n) {
    nodes.push_back(make_node(place.root, datasets, n));
  }
  const std::vector<FrameSeq> order = order_of_frames(options);
  for (const std::string& dataset : datasets) make_frames(dataset, nodes, order);
  std::vector<ChildProcess> daemons;
  for (const BenchLayout& node : nodes) {
    daemons.push_back(start_daemon(place.programs.zazend, node));
  }
  for (const BenchLayout& node : nodes) wait_until_reconciled(node);
  std::this_thread::sleep_for(kSettles);

  std::vector<std::string> held;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    held.push_back(datasets.front() + "/" + nodes[n].frame_name(order[n % order.size()]));
  HookJobs jobs(place.programs, options, place.root, std::move(held), nodes);
  return measure_rounds(jobs, options);
}

}  // namespace

void add_hook_bench(CommandLine& line) {
  static HookOptions options;
  line.benchmark("hook",
                 "Measure what the hook adds to MPI_Init, with real daemons and mpirun.",
                 "\nExample:\n  zazen-bench hook --frames 1e6 --ranks 8 --nodes 1\n",
                 [](const BenchPlace& place) { return measure(place, options); })
      .text("--origin", "DIR", &options.origin, "Where to make the frames (default: as --dir)")
      .frames(&options.frames, 1, 1e8, "How many frames of each dataset (default: 1e6)")
      .number("--datasets", &options.datasets, 1, 256,
              "How many datasets; the program reads one (default: 1)")
      .number("--ranks", &options.ranks, 1, 1024, "How many ranks (default: 8)")
      .number("--nodes", &options.nodes, 1, 256, "How many daemons (default: 8)")
      .flag("--shuffled", &options.shuffled,
            "Frames written in no order, on the nodes at random")
      .number("--rounds", &options.rounds, 1, 1000, "How many jobs (default: 10)");
}

}  // namespace zazen
