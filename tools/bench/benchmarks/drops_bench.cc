#include "tools/bench/benchmarks/drops_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

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

constexpr auto kLimit = std::chrono::seconds(60);
constexpr auto kPause = std::chrono::microseconds(200);

double now_seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

struct DropNode {
  BenchLayout layout;
  std::string address;
  std::string copy(const BenchLayout& origin, FrameSeq seq) const {
    return layout.cache() + origin.origin(seq);
  }
};

// All name all as peers, and nothing but a notice drops a copy.
void write_configuration(const DropNode& node, const std::vector<DropNode>& nodes,
                         const BenchLayout& origin, const std::string& key_file) {
  std::string peers;
  for (const DropNode& each : nodes) peers += fmt::format("\"{}\", ", each.address);
  std::ofstream(node.layout.config()) << fmt::format(
      "node = \"{}\"\ncache = \"{}\"\nruntime = \"{}\"\nread_order = \"none\"\nsweep = "
      "\"off\"\nlisten = \"{}\"\npeers = [{}]\nkey_file = \"{}\"\n\n[[dataset]]\npath = "
      "\"{}\"\nframes = \"{}\"\nvalidate = \"never\"\n",
      node.address, node.layout.cache(), node.layout.runtime(), node.address, peers, key_file,
      origin.dataset(), kFrameTemplate);
}

Result<std::vector<DropNode>> make_nodes(const BenchLayout& origin, int count) {
  const std::string key_file = origin.root + "/key";
  if (Status made = make_key_file(key_file); !made) return made.error();
  std::vector<DropNode> nodes;
  for (int i = 0; i < count; ++i) {
    Result<std::uint16_t> port = free_port();
    if (!port) return port.error();
    nodes.push_back(
        {{origin.root + "/n" + std::to_string(i)}, "127.0.0.1:" + std::to_string(*port)});
    if (mkdir(nodes.back().layout.root.c_str(), 0700) != 0)
      return last_error(nodes.back().layout.root);
  }
  for (const DropNode& node : nodes) write_configuration(node, nodes, origin, key_file);
  return nodes;
}

Status make_frames(const BenchLayout& origin, std::span<const FrameSeq> frames) {
  if (mkdir(origin.dataset().c_str(), 0755) != 0) return last_error(origin.dataset());
  for (FrameSeq seq : frames) {
    std::ofstream file(origin.origin(seq), std::ios::binary);
    file << std::string(4096, 'f');
    file.close();
    if (!file) return last_error(origin.origin(seq));
  }
  return Done{};
}

// The node has told all its peers that it lives, and none of its datasets is in doubt.
bool has_met_all(const nlohmann::json& status, std::size_t nodes) {
  const nlohmann::json& peers = status.at("changes").at("peers");
  auto is_met = [](const nlohmann::json& peer) {
    return peer.at("told") != 0 && peer.at("waiting") == 0;
  };
  auto is_trusted = [](const nlohmann::json& dataset) {
    return dataset.at("checks_each_open") == false;
  };
  return peers.size() == nodes - 1 && std::ranges::all_of(peers, is_met) &&
         std::ranges::all_of(status.at("datasets"), is_trusted);
}

template <class Condition>
Status wait_until(const std::string& what, Condition&& holds) {
  const Clock::time_point began = Clock::now();
  while (!holds()) {
    if (interruption() != 0) return Error{EINTR, what, {}};
    if (Clock::now() - began > kLimit) return Error{ETIMEDOUT, what, {}};
    std::this_thread::sleep_for(kPause);
  }
  return Done{};
}

bool change(const BenchLayout& origin, FrameSeq seq) {
  const std::string path = origin.origin(seq), other = path + ".new";
  switch (seq % 4) {
    case 0: {
      UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
      return pwrite(file.get(), "changed", 7, 0) == 7;
    }
    case 1:
      return truncate(path.c_str(), 7) == 0;
    case 2:
      std::ofstream(other) << "another";
      return rename(other.c_str(), path.c_str()) == 0;
    default:
      return unlink(path.c_str()) == 0;
  }
}

}  // namespace

Result<DropFigures> measure_drops(const DropsBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  const BenchLayout origin{root->path()};
  std::vector<FrameSeq> frames(options.frames);
  std::iota(frames.begin(), frames.end(), FrameSeq{0});
  if (Status made = make_frames(origin, frames); !made) return made.error();
  Result<std::vector<DropNode>> nodes = make_nodes(origin, options.nodes);
  if (!nodes) return nodes.error();
  std::vector<ChildProcess> daemons;
  for (const DropNode& node : *nodes) {
    Result<ChildProcess> daemon = start_daemon(programs->zazend, node.layout);
    if (!daemon) return daemon.error();
    daemons.push_back(std::move(*daemon));
    Status pushed = push_frames(node.layout.runtime(), origin, frames);
    if (!pushed) return pushed.error();
  }
  for (const DropNode& node : *nodes) {
    Status met = wait_until("the nodes' first notices", [&] {
      Result<nlohmann::json> status = status_of(node.layout);
      return status && has_met_all(*status, nodes->size());
    });
    if (!met) return met.error();
  }

  Result<WorkerProcess> worker =
      WorkerProcess::start({programs->self, "drops-worker", origin.root},
                           shim_environment(*programs, nodes->front().layout));
  if (!worker) return worker.error();
  DropFigures figures{options.frames, options.nodes, {}};
  for (FrameSeq seq : frames) {
    Result<std::vector<double>> changed_at = worker->take_turn(std::to_string(seq));
    if (!changed_at) return changed_at.error();
    Status dropped = wait_until("a copy's end", [&] {
      return std::ranges::none_of(*nodes, [&](const DropNode& node) {
        return access(node.copy(origin, seq).c_str(), F_OK) == 0;
      });
    });
    if (!dropped) return dropped.error();
    figures.seconds.push_back(now_seconds() - changed_at->front());
  }
  if (Result<std::uint64_t> changed = worker->finish(); !changed) return changed.error();
  return figures;
}

void print_drop_figures(const DropFigures& figures, bool as_json) {
  const double p50 = percentile(figures.seconds, 0.5), p99 = percentile(figures.seconds, 0.99),
               most = percentile(figures.seconds, 1);
  if (as_json) {
    nlohmann::ordered_json all = {{"frames", figures.frames},
                                  {"nodes", figures.nodes},
                                  {"p50_seconds", p50},
                                  {"p99_seconds", p99},
                                  {"max_seconds", most}};
    print_figures_json(all);
    return;
  }
  fmt::print(
      "{} frames changed through one of {} nodes; until all others had dropped their copies:\n"
      "  p50 {:.1f} ms, p99 {:.1f} ms, the slowest {:.1f} ms\n",
      figures.frames, figures.nodes, p50 * 1e3, p99 * 1e3, most * 1e3);
}

int drops_worker(const std::string& root) {
  const BenchLayout origin{root};
  std::uint64_t changed = 0;
  for (FrameSeq seq = 0; std::cin >> seq; ++changed) {
    if (!change(origin, seq)) return 1;
    std::cout << nlohmann::json(std::vector<double>{now_seconds()}) << std::endl;
  }
  std::cout << changed << std::endl;
  return 0;
}

}  // namespace zazen
