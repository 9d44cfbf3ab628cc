// The frames are empty files, dealt out round robin as natives. They are put into the caches
// before the daemons start: a push would flush each of a million. Shuffled, neither their inode
// numbers nor what a node holds can be told in a few words.
#include "tools/bench/benchmarks/hook_bench.h"

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
#include "bodhi/common/units.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "bodhi/node/seqlog.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/samples.h"

namespace zazen {
namespace {

constexpr auto kSettles = std::chrono::milliseconds(2'500);  // a listing can be kept by then
constexpr auto kPatience = std::chrono::minutes(10);
constexpr std::size_t kBatch = 10'000;

struct HookCopies {  // of one dataset on one node
  std::string path;  // the dataset's directory in the cache
  UniqueFd directory;
  std::vector<FrameSeq> frames;  // not yet in the log
};

Result<BenchLayout> make_node(const std::string& root, const std::vector<std::string>& datasets,
                              int number) {
  BenchLayout node{root + "/n" + std::to_string(number)};
  std::error_code error;
  std::filesystem::create_directories(node.runtime(), error);
  std::filesystem::create_directories(node.cache(), error);
  for (const std::string& path : {node.cache(), node.runtime()})
    if (chmod(path.c_str(), 0700) != 0) return last_error(path);
  std::ofstream config(node.config());
  config << "node = \"n" << number << "\"\nread_order = \"none\"\ncache = \"" << node.cache()
         << "\"\nruntime = \"" << node.runtime() << "\"\n";
  for (const std::string& dataset : datasets)
    config << "\n[[dataset]]\npath = \"" << dataset << "\"\nframes = \"" << kFrameTemplate
           << "\"\n";
  return node;
}

Result<HookCopies> make_copies(const BenchLayout& node, const std::string& dataset) {
  HookCopies copies{node.cache() + dataset, {}, {}};
  std::error_code error;
  std::filesystem::create_directories(copies.path + "/" + kDatasetStateDirectory, error);
  copies.directory = UniqueFd(open(copies.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copies.directory.valid()) return last_error(copies.path);
  return copies;
}

Status make_frame(int origin, const HookCopies& copies, FrameSeq seq) {
  const std::string name = "f" + std::to_string(seq);
  UniqueFd frame(openat(origin, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  struct stat st;
  if (!frame.valid() || fstat(frame.get(), &st) != 0) return last_error(name);
  UniqueFd copy(openat(copies.directory.get(), name.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.valid()) return last_error(copies.path + "/" + name);
  int code = write_identity(copy.get(), identity_of(st, FrameKind::kNative, 0));
  if (code != 0) return Error{code, copies.path + "/" + name, {}};
  if (fchmod(copy.get(), kCopyMode) != 0) return last_error(copies.path + "/" + name);
  return Done{};
}

// The frames as they are written: number k goes to node k modulo the number of nodes.
std::vector<FrameSeq> order_of_frames(const HookBenchOptions& options) {
  std::vector<FrameSeq> order(options.frames);
  std::iota(order.begin(), order.end(), FrameSeq{0});
  if (options.shuffled) std::ranges::shuffle(order, std::mt19937_64(5));
  return order;
}

Status make_frames(const std::string& dataset, const std::vector<BenchLayout>& nodes,
                   const std::vector<FrameSeq>& order) {
  std::vector<HookCopies> all;
  for (const BenchLayout& node : nodes) {
    Result<HookCopies> copies = make_copies(node, dataset);
    if (!copies) return copies.error();
    all.push_back(std::move(*copies));
  }
  if (mkdir(dataset.c_str(), 0755) != 0) return last_error(dataset);
  UniqueFd origin(open(dataset.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!origin.valid()) return last_error(dataset);
  for (std::size_t k = 0; k < order.size(); ++k) {
    HookCopies& copies = all[k % all.size()];
    if (Status made = make_frame(origin.get(), copies, order[k]); !made) return made;
    copies.frames.push_back(order[k]);
    if (interruption() != 0) return Error{EINTR, dataset, {}};
  }
  for (HookCopies& copies : all) {
    Result<SequenceLog> log = SequenceLog::open(copies.directory.get(), kNativeLog);
    if (!log) return log.error();
    std::span<const FrameSeq> rest = copies.frames;
    while (!rest.empty()) {
      const auto some = rest.first(std::min(kBatch, rest.size()));
      if (Status done = log->append(some, {}); !done) return done;
      rest = rest.subspan(some.size());
    }
  }
  return Done{};
}

Status wait_until_reconciled(const BenchLayout& node) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Result<Client> client = Client::connect(node.runtime(), 60'000);
    if (!client) return client.error();
    Result<std::string> text = client->status();
    if (!text) return text.error();
    if (nlohmann::json::parse(*text).at("reconciled").get<bool>()) return Done{};
    if (interruption() != 0) return Error{EINTR, "reconciliation", {}};
    if (std::chrono::steady_clock::now() > deadline)
      return Error{ETIMEDOUT, "reconciliation", {}};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
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
  HookJobs(const Programs& programs, const HookBenchOptions& options, std::string root,
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

  Result<RankTimes> run(bool with_shim) {
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
    if (!out.valid()) return last_error(output);
    Result<ChildProcess> mpirun =
        ChildProcess::start(command, environment_, {-1, out.get(), -1});
    if (!mpirun) return mpirun.error();
    if (Status ended = wait_for(*mpirun); !ended) return ended.error();
    return read_times(output);
  }

  Result<nlohmann::json> report() const {
    std::ifstream file(report_file());
    nlohmann::json report = nlohmann::json::parse(file, nullptr, false);
    if (report.is_discarded() || !report.value("filtered", false))
      return Error{EPROTO, "the job was not filtered: " + report.dump(), {}};
    return report;
  }

 private:
  std::string report_file() const { return root_ + "/report.json"; }

  static Status wait_for(ChildProcess& mpirun) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      if (std::optional<int> status = mpirun.ended()) {
        if (*status == 0) return Done{};
        return Error{EPROTO, fmt::format("mpirun failed with status {}", *status), {}};
      }
      if (interruption() != 0) return Error{EINTR, "mpirun", {}};
      if (std::chrono::steady_clock::now() > deadline) return Error{ETIMEDOUT, "mpirun", {}};
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  Result<RankTimes> read_times(const std::string& output) const {
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
    if (seen != options_.ranks) return Error{EPROTO, "a rank is missing", {}};
    times.all = last - first;
    times.frame = opened - last;
    return times;
  }

  const Programs& programs_;
  const HookBenchOptions& options_;
  std::string root_;
  std::vector<std::string> frames_;  // one that each node holds
  const std::vector<BenchLayout>& nodes_;
  std::vector<std::string> environment_;
};

Status measure_rounds(HookJobs& jobs, HookFigures& figures) {
  std::vector<double> added, added_to_last, cpu, frame, plain_frame;
  std::map<std::string, std::vector<double>> phases;
  for (int round = -1; round < figures.options.rounds; ++round) {
    Result<RankTimes> plain = jobs.run(false);
    if (!plain) return plain.error();
    Result<RankTimes> shim = jobs.run(true);
    if (!shim) return shim.error();
    Result<nlohmann::json> report = jobs.report();
    if (!report) return report.error();
    if (round < 0) {  // this one lists
      figures.first_listing_seconds = report->at("listing_seconds");
      continue;
    }
    if (report->at("listing_seconds").get<double>() != 0)
      return Error{EPROTO, "the listing was not kept", {}};
    added.push_back(shim->first_rank - plain->first_rank);
    added_to_last.push_back(shim->all - plain->all);
    cpu.push_back(shim->cpu - plain->cpu);
    frame.push_back(shim->frame);
    plain_frame.push_back(plain->frame);
    figures.protocol_seconds.push_back(report->at("protocol_seconds"));
    for (const auto& [name, seconds] : report->at("phases").items())
      phases[name].push_back(seconds);
  }
  figures.added_seconds = median(added);
  figures.added_to_last_seconds = median(added_to_last);
  figures.cpu_seconds = median(cpu);
  figures.first_frame_seconds = median(frame);
  figures.plain_first_frame_seconds = median(plain_frame);
  for (const auto& [name, samples] : phases) figures.phases[name] = median(samples);
  return Done{};
}

}  // namespace

Result<HookFigures> measure_hook(const HookBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  Result<TemporaryDirectory> origin =
      TemporaryDirectory::make(options.origin.empty() ? options.directory : options.origin);
  if (!origin) return origin.error();
  std::vector<std::string> datasets;
  for (int d = 1; d <= options.datasets; ++d)
    datasets.push_back(origin->path() + "/sim" + std::to_string(d));
  std::vector<BenchLayout> nodes;
  for (int n = 0; n < options.nodes; ++n) {
    Result<BenchLayout> node = make_node(root->path(), datasets, n);
    if (!node) return node.error();
    nodes.push_back(std::move(*node));
  }
  const std::vector<FrameSeq> order = order_of_frames(options);
  for (const std::string& dataset : datasets)
    if (Status made = make_frames(dataset, nodes, order); !made) return made.error();
  std::vector<ChildProcess> daemons;
  for (const BenchLayout& node : nodes) {
    Result<ChildProcess> daemon = start_daemon(programs->zazend, node);
    if (!daemon) return daemon.error();
    daemons.push_back(std::move(*daemon));
  }
  for (const BenchLayout& node : nodes)
    if (Status done = wait_until_reconciled(node); !done) return done.error();
  std::this_thread::sleep_for(kSettles);

  HookFigures figures;
  figures.options = options;
  std::vector<std::string> held;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    held.push_back(datasets.front() + "/" + nodes[n].frame_name(order[n % order.size()]));
  HookJobs jobs(*programs, options, root->path(), std::move(held), nodes);
  if (Status done = measure_rounds(jobs, figures); !done) return done.error();
  return figures;
}

void print_hook_figures(const HookFigures& figures, bool as_json) {
  const double least = percentile(figures.protocol_seconds, 0),
               middle = median(figures.protocol_seconds);
  if (as_json) {
    nlohmann::ordered_json all = {
        {"frames", figures.options.frames},
        {"ranks", figures.options.ranks},
        {"nodes", figures.options.nodes},
        {"rounds", figures.options.rounds},
        {"datasets", figures.options.datasets},
        {"shuffled", figures.options.shuffled},
        {"protocol_seconds", middle},
        {"protocol_seconds_least", least},
        {"listing_seconds", figures.first_listing_seconds},
        {"added_seconds", figures.added_seconds},
        {"added_to_last_seconds", figures.added_to_last_seconds},
        {"cpu_seconds", figures.cpu_seconds},
        {"first_frame_seconds", figures.first_frame_seconds},
        {"plain_first_frame_seconds", figures.plain_first_frame_seconds},
        {"phases", figures.phases}};
    print_figures_json(all);
    return;
  }
  fmt::print("{} frames, {} ranks on {} nodes: {:.1f} ms (least {:.1f}), {:.1f} ms of CPU\n",
             format_count(figures.options.frames), figures.options.ranks, figures.options.nodes,
             middle * 1e3, least * 1e3, figures.cpu_seconds * 1e3);
  fmt::print(
      "added to MPI_Init: {:.1f} ms; from there to the first frame: {:.1f} ms, plain {:.1f}\n",
      figures.added_seconds * 1e3, figures.first_frame_seconds * 1e3,
      figures.plain_first_frame_seconds * 1e3);
  fmt::print("the listing, when it was needed: {:.1f} ms\n",
             figures.first_listing_seconds * 1e3);
  for (const auto& [name, seconds] : figures.phases)
    fmt::print("  {:12} {:8.2f} ms\n", name, seconds * 1e3);
}

}  // namespace zazen
