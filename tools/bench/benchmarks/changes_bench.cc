// `zazen-bench changes`: what the shim adds to creating, rewriting and removing frames.
//
// Four directories: one without Zazen, a dataset, one whose frames all have copies before they
// are changed, and one with `push = true`. Each has a process of its own. They take turns at
// each call, so whatever else the machine does disturbs neighbouring turns alike.
#include "tools/bench/benchmarks/benchmarks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct ChangesOptions {
  int rounds = 20;
  // The programs are this user's, and the daemon serves all users. For root only. -1: one's
  // own.
  int user = -1;
};

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
  ChangesBench(const BenchLayout& node, const Programs& programs, int user)
      : node_(node), programs_(programs), user_(user) {}

  void start() {
    std::uint16_t port = free_port();
    const std::string key_file = node_.root + "/key";
    make_key_file(key_file);
    if (::chmod(node_.root.c_str(), 0755) != 0) throw last_error(node_.root);
    std::ofstream(node_.config())
        << configuration(node_, "127.0.0.1:" + std::to_string(port), key_file, user_ >= 0);
    for (const std::string& side : kSides) {
      const BenchLayout layout = of(side);
      for (const std::string& path : {layout.root, layout.dataset()}) {
        if (::mkdir(path.c_str(), 0755) != 0) throw last_error(path);
        if (user_ >= 0 && ::chown(path.c_str(), uid(), uid()) != 0) throw last_error(path);
      }
    }
    daemon_.emplace(start_daemon(programs_.zazend, node_));
    for (const std::string& side : kSides) {
      std::vector<std::string> command = {programs_.self, "changes-worker", of(side).root};
      if (user_ >= 0) {
        const std::string id = std::to_string(user_);
        command.insert(command.begin(), {"/usr/bin/setpriv", "--reuid", id, "--regid", id,
                                         "--clear-groups", "--"});
      }
      WorkerProcess worker = take(WorkerProcess::start(
          command, side == kPlain ? plain_environment() : shim_environment(programs_, node_)));
      workers_.emplace(side, std::move(worker));
    }
  }

  void run_round(int round) {
    for (const Load& load : kLoads) {
      for (const std::string& call : kCalls) {
        if (call != "create") {
          hold_copies(load);
        }
        for (std::size_t i = 0; i < kSides.size(); ++i) {
          const std::string& side =
              kSides[(i + static_cast<std::size_t>(round)) % kSides.size()];
          std::vector<double> turn = take(workers_.at(side).take_turn(
              fmt::format("{} {} {} {}", call, next_, load.files, load.bytes)));
          turns_[{call, load.bytes, side}].add(turn);
        }
      }
      next_ += static_cast<FrameSeq>(load.files);
    }
  }

  Figures figures(int rounds) const {
    Figures figures = {{"rounds", rounds}};
    for (const auto& [key, turns] : turns_) {
      const auto& [call, bytes, side] = key;
      if (side == kPlain || (side == kCopies && call == "create")) continue;
      const Turns& plain = turns_.at({call, bytes, kPlain});
      figures["rows"].push_back(
          {{"call", call},
           {"bytes", bytes},
           {"side", side},
           {"plain_p50_seconds", median(plain.all)},
           {"plain_p99_seconds", percentile(plain.all, 0.99)},
           {"p50_seconds", median(turns.all)},
           {"p99_seconds", percentile(turns.all, 0.99)},
           {"ratio", median(ratios(turns.medians, plain.medians))},
           {"more_seconds", median(differences(turns.medians, plain.medians))}});
    }
    return figures;
  }

 private:
  uid_t uid() const { return static_cast<uid_t>(user_); }

  BenchLayout of(const std::string& side) const { return {node_.root + "/" + side}; }

  void hold_copies(const Load& load) {
    std::vector<FrameSeq> frames(static_cast<std::size_t>(load.files));
    std::iota(frames.begin(), frames.end(), next_);
    return push_frames(node_.runtime(), of(kCopies), frames);
  }

  const BenchLayout node_;
  const Programs programs_;
  const int user_;  // or -1
  std::optional<ChildProcess> daemon_;
  std::map<std::string, WorkerProcess> workers_;
  std::map<std::tuple<std::string, std::uint64_t, std::string>, Turns> turns_;
  FrameSeq next_ = 0;
};

bool write_frame(const std::string& path, const std::string& content) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  return write(file.get(), content.data(), content.size()) ==
         static_cast<ssize_t>(content.size());
}

Figures measure(const BenchPlace& place, const ChangesOptions& options) {
  ChangesBench bench(BenchLayout{place.root}, place.programs, options.user);
  bench.start();
  for (int i = 0; i < options.rounds; ++i) bench.run_round(i);
  return bench.figures(options.rounds);
}

// A process of its own, under the shim or not. A line on stdin, "CALL FIRST COUNT BYTES", is
// done to that many files; the answer is the seconds of each. Its exit status.
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

}  // namespace

void add_changes_bench(CommandLine& line) {
  static ChangesOptions options;
  line.benchmark(
          "changes",
          "Compare creating, rewriting and removing frames with and without the shim.",
          "\nThe sides are a dataset, one whose frames have copies, and one with push = true.\n"
          "The ratio is the median, over pairs of short turns, of the shim's p50 by the plain "
          "p50.\n\nExample:\n  zazen-bench changes --rounds 50\n",
          [](const BenchPlace& place) { return measure(place, options); })
      .number("--rounds", &options.rounds, 1, 10'000, "How often (default: 20)")
      .number("--user", &options.user, 0, std::numeric_limits<int>::max(),
              "As this user, with a daemon that serves all (root only)", "UID");
  line.worker("changes-worker", 1, [](const auto& words) { return changes_worker(words[0]); });
}

}  // namespace zazen
