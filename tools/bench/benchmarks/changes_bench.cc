// Four directories: one without Zazen, a dataset, one whose frames all have copies before they
// are changed, and one with `push = true`. Each has a process of its own. They take turns at
// each call, so whatever else the machine does disturbs neighbouring turns alike.
#include "tools/bench/benchmarks/changes_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/other_copiers.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

constexpr char kPlain[] = "plain", kDataset[] = "dataset", kCopies[] = "copies",
               kPush[] = "push";
const std::vector<std::string> kSides = {kPlain, kDataset, kCopies, kPush};
const std::vector<std::string> kCalls = {"create", "rewrite", "unlink"};

struct Load {
  std::uint64_t bytes;
  int files;  // in one turn
};
constexpr Load kLoads[] = {{4 << 10, 40}, {430 << 10, 10}, {2 << 20, 5}};

std::string configuration(const BenchLayout& node, const std::string& address,
                          const std::string& key_file, bool all_users) {
  std::string text = fmt::format(
      "node = \"bench\"\ncache = \"{}\"\nruntime = \"{}\"\nread_order = \"none\"\nlisten = "
      "\"{}\"\npeers = [\"{}\"]\nkey_file = \"{}\"\n{}",
      node.cache(), node.runtime(), address, address, key_file,
      all_users ? "users = \"all\"\n" : "");
  for (const std::string& side : kSides) {
    if (side == kPlain) continue;
    text += fmt::format("\n[[dataset]]\npath = \"{}\"\nframes = \"{}\"\n{}",
                        BenchLayout{node.root + "/" + side}.dataset(), kFrameTemplate,
                        side == kPush ? "push = true\n" : "");
  }
  return text;
}

class ChangesBench {
 public:
  ChangesBench(const BenchLayout& node, const Programs& programs, std::optional<unsigned> user)
      : node_(node), programs_(programs), user_(user) {}

  Status start() {
    Result<std::uint16_t> port = free_port();
    if (!port) return port.error();
    const std::string key_file = node_.root + "/key";
    if (Status made = make_key_file(key_file); !made) return made.error();
    if (::chmod(node_.root.c_str(), 0755) != 0) return last_error(node_.root);
    std::ofstream(node_.config()) << configuration(node_, "127.0.0.1:" + std::to_string(*port),
                                                   key_file, user_.has_value());
    for (const std::string& side : kSides) {
      const BenchLayout layout = of(side);
      for (const std::string& path : {layout.root, layout.dataset()}) {
        if (::mkdir(path.c_str(), 0755) != 0) return last_error(path);
        if (user_ && ::chown(path.c_str(), *user_, *user_) != 0) return last_error(path);
      }
    }
    Result<ChildProcess> daemon = start_daemon(programs_.zazend, node_);
    if (!daemon) return daemon.error();
    daemon_.emplace(std::move(*daemon));
    for (const std::string& side : kSides) {
      std::vector<std::string> command = {programs_.self, "changes-worker", of(side).root};
      if (user_) {
        const std::string id = std::to_string(*user_);
        command.insert(command.begin(), {"/usr/bin/setpriv", "--reuid", id, "--regid", id,
                                         "--clear-groups", "--"});
      }
      Result<WorkerProcess> worker = WorkerProcess::start(
          command, side == kPlain ? plain_environment() : shim_environment(programs_, node_));
      if (!worker) return worker.error();
      workers_.emplace(side, std::move(*worker));
    }
    return Done{};
  }

  Status run_round(int round) {
    for (const Load& load : kLoads) {
      for (const std::string& call : kCalls) {
        if (call != "create") {
          if (Status held = hold_copies(load); !held) return held;
        }
        for (std::size_t i = 0; i < kSides.size(); ++i) {
          const std::string& side =
              kSides[(i + static_cast<std::size_t>(round)) % kSides.size()];
          Result<std::vector<double>> turn = workers_.at(side).take_turn(
              fmt::format("{} {} {} {}", call, next_, load.files, load.bytes));
          if (!turn) return turn.error();
          Samples& samples = samples_[{call, load.bytes, side}];
          samples.medians.push_back(median(*turn));
          samples.all.insert(samples.all.end(), turn->begin(), turn->end());
        }
      }
      next_ += static_cast<FrameSeq>(load.files);
    }
    return Done{};
  }

  ChangeFigures figures(int rounds) const {
    ChangeFigures figures{rounds, {}};
    for (const auto& [key, samples] : samples_) {
      const auto& [call, bytes, side] = key;
      if (side == kPlain || (side == kCopies && call == "create")) continue;
      const Samples& plain = samples_.at({call, bytes, kPlain});
      std::vector<double> ratios, differences;
      for (std::size_t i = 0; i < samples.medians.size(); ++i) {
        ratios.push_back(samples.medians[i] / plain.medians[i]);
        differences.push_back(samples.medians[i] - plain.medians[i]);
      }
      figures.rows.push_back({call, side, bytes, median(plain.all), percentile(plain.all, 0.99),
                              median(samples.all), percentile(samples.all, 0.99),
                              median(ratios), median(differences)});
    }
    return figures;
  }

 private:
  struct Samples {
    std::vector<double> all, medians;  // of each turn
  };

  BenchLayout of(const std::string& side) const { return {node_.root + "/" + side}; }

  Status hold_copies(const Load& load) {
    std::vector<FrameSeq> frames(static_cast<std::size_t>(load.files));
    std::iota(frames.begin(), frames.end(), next_);
    return push_frames(node_.runtime(), of(kCopies), frames);
  }

  const BenchLayout node_;
  const Programs programs_;
  const std::optional<unsigned> user_;
  std::optional<ChildProcess> daemon_;
  std::map<std::string, WorkerProcess> workers_;
  std::map<std::tuple<std::string, std::uint64_t, std::string>, Samples> samples_;
  FrameSeq next_ = 0;
};

bool write_frame(const std::string& path, const std::string& content) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  return write(file.get(), content.data(), content.size()) ==
         static_cast<ssize_t>(content.size());
}

}  // namespace

Result<ChangeFigures> measure_changes(const ChangesBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  ChangesBench bench(BenchLayout{root->path()}, *programs, options.user);
  if (Status started = bench.start(); !started) return started.error();
  for (int i = 0; i < options.rounds; ++i) {
    if (Status done = bench.run_round(i); !done) return done.error();
  }
  return bench.figures(options.rounds);
}

void print_change_figures(const ChangeFigures& figures, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json all = {{"rounds", figures.rounds}};
    for (const ChangeFigures::Row& row : figures.rows) {
      all["rows"].push_back({{"call", row.call},
                             {"bytes", row.bytes},
                             {"side", row.side},
                             {"plain_p50_seconds", row.plain_p50},
                             {"plain_p99_seconds", row.plain_p99},
                             {"p50_seconds", row.p50},
                             {"p99_seconds", row.p99},
                             {"ratio", row.ratio},
                             {"more_seconds", row.more}});
    }
    print_figures_json(all);
    return;
  }
  fmt::print("{:8} {:>8}  {:8} {:>10} {:>10} {:>10} {:>10} {:>7} {:>10}\n", "call", "bytes",
             "side", "plain p50", "p99", "shim p50", "p99", "ratio", "more");
  for (const ChangeFigures::Row& row : figures.rows) {
    fmt::print(
        "{:8} {:8}  {:8} {:7.1f} us {:7.1f} us {:7.1f} us {:7.1f} us {:7.2f} {:7.1f} us\n",
        row.call, row.bytes, row.side, row.plain_p50 * 1e6, row.plain_p99 * 1e6, row.p50 * 1e6,
        row.p99 * 1e6, row.ratio, row.more * 1e6);
  }
}

int changes_worker(const std::string& root) {
  const BenchLayout layout{root};
  std::uint64_t changed = 0, count = 0, bytes = 0;
  FrameSeq first = 0;
  for (std::string call; std::cin >> call >> first >> count >> bytes; changed += count) {
    const std::string content(bytes, call == "create" ? 'n' : 'r');
    std::vector<double> seconds;
    for (FrameSeq seq = first; seq < first + count; ++seq) {
      const std::string path = layout.origin(seq);
      const Clock::time_point began = Clock::now();
      const bool done =
          call == "unlink" ? unlink(path.c_str()) == 0 : write_frame(path, content);
      seconds.push_back(seconds_since(began));
      if (!done) return 1;
    }
    std::cout << nlohmann::json(seconds) << std::endl;
  }
  std::cout << changed << std::endl;
  return 0;
}

}  // namespace zazen
