// The frames are empty files, dealt out round robin as natives. They are put into the caches
// before the daemons start: a push would flush each of a million. Shuffled, neither their inode
// numbers nor what a node holds can be told in a few words.
#include "tools/bench/hook_bench.h"

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

#include "bodhi/client.h"
#include "bodhi/identity.h"
#include "bodhi/seqlog.h"
#include "bodhi/table.h"
#include "bodhi/unique_fd.h"
#include "bodhi/units.h"
#include "tools/bench/bench_node.h"
#include "tools/bench/figures_json.h"
#include "tools/bench/interruption.h"
#include "tools/bench/programs.h"
#include "tools/bench/samples.h"

namespace zazen {
namespace {

constexpr auto kSettles = std::chrono::milliseconds(2'500);  // a listing can be kept by then
constexpr auto kPatience = std::chrono::minutes(10);
constexpr std::size_t kBatch = 10'000;

struct HookNode {
  BenchLayout layout;
  std::string copies;  // the dataset's directory in the cache
  UniqueFd directory;
  std::vector<FrameSeq> frames;  // not yet in the log
};

Result<HookNode> make_node(const std::string& root, const std::string& dataset, int number) {
  HookNode node{{root + "/n" + std::to_string(number)}, {}, {}, {}};
  node.copies = node.layout.cache() + dataset;
  std::error_code error;
  std::filesystem::create_directories(node.layout.runtime(), error);
  std::filesystem::create_directories(node.copies + "/" + kDatasetStateDirectory, error);
  for (const std::string& path : {node.layout.cache(), node.layout.runtime()})
    if (chmod(path.c_str(), 0700) != 0) return last_error(path);
  std::ofstream(node.layout.config())
      << "node = \"n" << number << "\"\nread_order = \"none\"\ncache = \""
      << node.layout.cache() << "\"\nruntime = \"" << node.layout.runtime()
      << "\"\n\n[[dataset]]\npath = \"" << dataset << "\"\nframes = \"" << kFrameTemplate
      << "\"\n";
  node.directory = UniqueFd(open(node.copies.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!node.directory.valid()) return last_error(node.copies);
  return node;
}

Status make_frame(int origin, const HookNode& node, FrameSeq seq) {
  const std::string name = node.layout.frame_name(seq);
  UniqueFd frame(openat(origin, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  struct stat st;
  if (!frame.valid() || fstat(frame.get(), &st) != 0) return last_error(name);
  UniqueFd copy(
      openat(node.directory.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!copy.valid()) return last_error(node.copies + "/" + name);
  int code = write_identity(copy.get(), identity_of(st, FrameKind::kNative, 0));
  if (code != 0) return Error{code, node.copies + "/" + name, {}};
  if (fchmod(copy.get(), kCopyMode) != 0) return last_error(node.copies + "/" + name);
  return Done{};
}

// The frames as they are written: number k goes to node k modulo the number of nodes.
std::vector<FrameSeq> order_of_frames(const HookBenchOptions& options) {
  std::vector<FrameSeq> order(options.frames);
  std::iota(order.begin(), order.end(), FrameSeq{0});
  if (options.shuffled) std::ranges::shuffle(order, std::mt19937_64(5));
  return order;
}

Status make_frames(const std::string& dataset, std::vector<HookNode>& nodes,
                   const std::vector<FrameSeq>& order) {
  if (mkdir(dataset.c_str(), 0755) != 0) return last_error(dataset);
  UniqueFd origin(open(dataset.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!origin.valid()) return last_error(dataset);
  for (std::size_t k = 0; k < order.size(); ++k) {
    HookNode& node = nodes[k % nodes.size()];
    if (Status made = make_frame(origin.get(), node, order[k]); !made) return made;
    node.frames.push_back(order[k]);
    if (interruption() != 0) return Error{EINTR, dataset, {}};
  }
  for (HookNode& node : nodes) {
    Result<SequenceLog> log = SequenceLog::open(node.directory.get(), kNativeLog);
    if (!log) return log.error();
    std::span<const FrameSeq> rest = node.frames;
    while (!rest.empty()) {
      const auto some = rest.first(std::min(kBatch, rest.size()));
      if (Status done = log->append(some, {}); !done) return done;
      rest = rest.subspan(some.size());
    }
  }
  return Done{};
}

Status wait_until_reconciled(const HookNode& node) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Result<Client> client = Client::connect(node.layout.runtime(), 60'000);
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
};

class HookJobs {
 public:
  HookJobs(const Programs& programs, const HookBenchOptions& options, std::string root,
           const std::vector<HookNode>& nodes)
      : programs_(programs), options_(options), root_(std::move(root)), nodes_(nodes) {
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
              "ZAZEN_CONFIG=" + nodes_[static_cast<std::size_t>(n)].layout.config(),
              "ZAZEN_REPORT=" + report_file()})
          command.push_back(word);
      command.push_back(programs_.self + "-hook-worker");
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
    double first = 0, last = 0;
    for (double began = 0, ended = 0, used = 0; file >> rank >> began >> ended >> used; ++seen) {
      if (rank == 0) times.first_rank = ended - began;
      first = seen == 0 ? began : std::min(first, began);
      last = std::max(last, ended);
      times.cpu += used;
    }
    if (seen != options_.ranks) return Error{EPROTO, "a rank is missing", {}};
    times.all = last - first;
    return times;
  }

  const Programs& programs_;
  const HookBenchOptions& options_;
  std::string root_;
  const std::vector<HookNode>& nodes_;
  std::vector<std::string> environment_;
};

Status measure_rounds(HookJobs& jobs, HookFigures& figures) {
  std::vector<double> added, added_to_last, cpu;
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
    figures.protocol_seconds.push_back(report->at("protocol_seconds"));
    for (const auto& [name, seconds] : report->at("phases").items())
      phases[name].push_back(seconds);
  }
  figures.added_seconds = median(added);
  figures.added_to_last_seconds = median(added_to_last);
  figures.cpu_seconds = median(cpu);
  for (const auto& [name, samples] : phases) figures.phases[name] = median(samples);
  return Done{};
}

}  // namespace

Result<HookFigures> measure_hook(const HookBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  const std::string dataset = root->path() + "/sim1";
  std::vector<HookNode> nodes;
  for (int n = 0; n < options.nodes; ++n) {
    Result<HookNode> node = make_node(root->path(), dataset, n);
    if (!node) return node.error();
    nodes.push_back(std::move(*node));
  }
  if (Status made = make_frames(dataset, nodes, order_of_frames(options)); !made)
    return made.error();
  std::vector<ChildProcess> daemons;
  for (const HookNode& node : nodes) {
    Result<ChildProcess> daemon = start_daemon(programs->zazend, node.layout);
    if (!daemon) return daemon.error();
    daemons.push_back(std::move(*daemon));
  }
  for (const HookNode& node : nodes)
    if (Status done = wait_until_reconciled(node); !done) return done.error();
  std::this_thread::sleep_for(kSettles);

  HookFigures figures;
  figures.options = options;
  HookJobs jobs(*programs, options, root->path(), nodes);
  if (Status done = measure_rounds(jobs, figures); !done) return done.error();
  return figures;
}

void print_hook_figures(const HookFigures& figures, bool as_json) {
  const double least = percentile(figures.protocol_seconds, 0),
               middle = median(figures.protocol_seconds);
  if (as_json) {
    nlohmann::ordered_json all = {{"frames", figures.options.frames},
                                  {"ranks", figures.options.ranks},
                                  {"nodes", figures.options.nodes},
                                  {"rounds", figures.options.rounds},
                                  {"shuffled", figures.options.shuffled},
                                  {"protocol_seconds", middle},
                                  {"protocol_seconds_least", least},
                                  {"listing_seconds", figures.first_listing_seconds},
                                  {"added_seconds", figures.added_seconds},
                                  {"added_to_last_seconds", figures.added_to_last_seconds},
                                  {"cpu_seconds", figures.cpu_seconds},
                                  {"phases", figures.phases}};
    print_figures_json(all);
    return;
  }
  fmt::print("{} frames, {} ranks on {} nodes: {:.1f} ms (least {:.1f}), {:.1f} ms of CPU\n",
             format_count(figures.options.frames), figures.options.ranks, figures.options.nodes,
             middle * 1e3, least * 1e3, figures.cpu_seconds * 1e3);
  fmt::print("the listing, when it was needed: {:.1f} ms\n",
             figures.first_listing_seconds * 1e3);
  for (const auto& [name, seconds] : figures.phases)
    fmt::print("  {:12} {:8.2f} ms\n", name, seconds * 1e3);
}

}  // namespace zazen
