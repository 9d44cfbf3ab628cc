// `zazen-bench drops`: how soon the other nodes drop their copies of a frame that a program
// changes through one node's shim.
#include "tools/bench/benchmarks/benchmarks.h"

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

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct DropsOptions {
  std::uint64_t frames = 300;
  int nodes = 3;
};

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

std::vector<DropNode> make_nodes(const BenchLayout& origin, int count) {
  const std::string key_file = origin.root + "/key";
  make_key_file(key_file);
  std::vector<DropNode> nodes;
  for (int i = 0; i < count; ++i) {
    std::uint16_t port = free_port();
    nodes.push_back(
        {{origin.root + "/n" + std::to_string(i)}, "127.0.0.1:" + std::to_string(port)});
    if (mkdir(nodes.back().layout.root.c_str(), 0700) != 0)
      throw last_error(nodes.back().layout.root);
  }
  for (const DropNode& node : nodes) write_configuration(node, nodes, origin, key_file);
  return nodes;
}

void make_frames(const BenchLayout& origin, std::span<const FrameSeq> frames) {
  if (mkdir(origin.dataset().c_str(), 0755) != 0) throw last_error(origin.dataset());
  for (FrameSeq seq : frames) {
    std::ofstream file(origin.origin(seq), std::ios::binary);
    file << std::string(4096, 'f');
    file.close();
    if (!file) throw last_error(origin.origin(seq));
  }
}

// The node has greeted all its peers, and none of its datasets is in doubt.
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

Figures measure(const BenchPlace& place, const DropsOptions& options) {
  const BenchLayout origin{place.root};
  std::vector<FrameSeq> frames(options.frames);
  std::iota(frames.begin(), frames.end(), FrameSeq{0});
  make_frames(origin, frames);
  std::vector<DropNode> nodes = make_nodes(origin, options.nodes);
  std::vector<ChildProcess> daemons;
  for (const DropNode& node : nodes) {
    daemons.push_back(start_daemon(place.programs.zazend, node.layout));
    push_frames(node.layout.runtime(), origin, frames);
  }
  for (const DropNode& node : nodes) {
    auto has_met = [&] { return has_met_all(status_of(node.layout), nodes.size()); };
    take(wait_until("the nodes' first notices", has_met));
  }

  WorkerProcess worker =
      take(WorkerProcess::start({place.programs.self, "drops-worker", origin.root},
                                shim_environment(place.programs, nodes.front().layout)));
  std::vector<double> seconds;  // one for each frame: from the change to the last copy's end
  for (FrameSeq seq : frames) {
    std::vector<double> changed_at = take(worker.take_turn(std::to_string(seq)));
    auto is_dropped = [&] {
      return std::ranges::none_of(nodes, [&](const DropNode& node) {
        return access(node.copy(origin, seq).c_str(), F_OK) == 0;
      });
    };
    take(wait_until("a copy's end", is_dropped, kPause));
    seconds.push_back(now_seconds() - changed_at.front());
  }
  take(worker.finish());
  return Figures{{"frames", options.frames},
                 {"nodes", options.nodes},
                 {"p50_seconds", median(seconds)},
                 {"p99_seconds", percentile(seconds, 0.99)},
                 {"max_seconds", percentile(seconds, 1)}};
}

// A process of its own, under a shim. Each line on stdin is a frame's number. The process
// changes that frame and answers with the time when the call had returned. Its exit status.
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

}  // namespace

void add_drops_bench(CommandLine& line) {
  static DropsOptions options;
  line.benchmark(
          "drops",
          "Measure how soon other nodes drop frames that are changed through one node.",
          "\nThe nodes talk over TCP on the loopback, with a key. The frames are written, "
          "truncated,\nrenamed over and removed in turn, by a program under the first node's "
          "shim.\n\nExample:\n  zazen-bench drops --nodes 8\n",
          [](const BenchPlace& place) { return measure(place, options); })
      .frames(&options.frames, 1, 1e8, "How many changes (default: 300)")
      .number("--nodes", &options.nodes, 2, 64, "How many daemons (default: 3)");
  line.worker("drops-worker", 1, [](const auto& words) { return drops_worker(words[0]); });
}

}  // namespace zazen
