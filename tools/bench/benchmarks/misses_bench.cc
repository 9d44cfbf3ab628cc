// `zazen-bench misses`: what a first pass over uncached frames costs. The origin is a file
// server on FUSE whose every request takes 0.3 ms (slow_origin.h). One process reads all frames
// without Zazen, another one under the shim, by turns; a ratio is that of two neighbouring
// turns. Then both read only the headers of large frames, and the server tells what it has
// sent.
#include "tools/bench/benchmarks/benchmarks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/slow_origin.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct MissesOptions {
  int rounds = 5;
};

constexpr char kDelay[] = "delay 300";

struct Load {
  FrameSeq first, frames;
  std::uint64_t bytes;
};
// A pass takes some seconds.
constexpr Load kLoads[] = {
    {0, 2000, 4 << 10}, {10'000, 2000, 64 << 10}, {20'000, 800, 430 << 10}};
constexpr Load kHeaders = {30'000, 24, 64 << 20};
constexpr std::uint64_t kHeaderBytes = 4 << 10;
constexpr std::chrono::seconds kAfterHeaders(5);

class MissesBench {
 public:
  MissesBench(const BenchLayout& layout, const SlowOrigin& origin)
      : layout_(layout), origin_(origin) {}

  void start(const Programs& programs) {
    for (bool shim : {false, true}) {
      WorkerProcess reader = take(WorkerProcess::start(
          {programs.self, "misses-worker", layout_.root},
          shim ? shim_environment(programs, layout_) : plain_environment()));
      readers_[shim].emplace(std::move(reader));
    }
  }

  Figures measure_pass(const Load& load, int rounds) {
    std::vector<double> seconds[2];
    const auto frames = static_cast<double>(load.frames);
    double requests[2] = {}, all_requests = 0;  // for one frame
    for (int i = 0; i < rounds; ++i) {
      for (bool shim : {i % 2 == 1, i % 2 == 0}) {
        Turn turn = read(load, load.bytes, shim);
        seconds[shim].push_back(turn.seconds);
        if (shim) settle();
        requests[shim] = static_cast<double>(turn.requests) / frames;
        if (shim) all_requests = static_cast<double>(origin_.sum(".requests")) / frames;
      }
    }
    Figures pass = {{"bytes", load.bytes},
                    {"frames", load.frames},
                    {"plain_seconds", median(seconds[false])},
                    {"missed_seconds", median(seconds[true])}};
    pass.update(spread_of(ratios(seconds[true], seconds[false])));
    pass["plain_requests_per_frame"] = requests[false];
    pass["program_requests_per_frame"] = requests[true];
    pass["all_requests_per_frame"] = all_requests;
    return pass;
  }

  // Once: the rest of the frames comes when programs have been quiet for long.
  Figures measure_headers() {
    double seconds[2];
    std::uint64_t sent[2];
    for (bool shim : {false, true}) {
      Turn turn = read(kHeaders, kHeaderBytes, shim);
      if (shim) std::this_thread::sleep_for(kAfterHeaders);
      seconds[shim] = turn.seconds;
      sent[shim] = origin_.sum(".sent");
    }
    return Figures{{"bytes", kHeaders.bytes},
                   {"frames", kHeaders.frames},
                   {"read_bytes", kHeaders.frames * kHeaderBytes},
                   {"plain_seconds", seconds[false]},
                   {"missed_seconds", seconds[true]},
                   {"plain_sent_bytes", sent[false]},
                   {"sent_bytes", sent[true]},
                   {"seconds_after", std::chrono::duration<double>(kAfterHeaders).count()}};
  }

 private:
  struct Turn {
    double seconds;
    std::uint64_t requests;  // of the reader
  };

  Turn read(const Load& load, std::uint64_t bytes, bool shim) {
    origin_.control("delay 0");
    origin_.forget(load.first, load.frames);
    origin_.control("reset");
    origin_.control(kDelay);
    std::vector<double> turn = take(
        readers_[shim]->take_turn(fmt::format("{} {} {}", load.first, load.frames, bytes)));
    const auto pid = static_cast<pid_t>(turn.at(1));
    return Turn{turn.at(0), origin_.sum(".requests", std::to_string(pid))};
  }

  void settle() const {
    auto is_idle = [&]() -> Result<bool> {
      nlohmann::json status = status_of(layout_);
      return status.at("fills_under_way") == 0;
    };
    take(wait_until("the fills", is_idle));
  }

  const BenchLayout layout_;
  const SlowOrigin& origin_;
  std::optional<WorkerProcess> readers_[2];  // plain, shim
};

Figures measure(const BenchPlace& place, const MissesOptions& options) {
  const BenchLayout layout{place.root};
  std::ofstream(layout.config()) << bench_configuration(layout, kFrameTemplate, {});
  SlowOrigin origin = SlowOrigin::mount(place.programs, layout, 0);
  for (const Load& load : kLoads) {
    origin.make_frames(load.first, load.frames, load.bytes, false);
  }
  origin.make_frames(kHeaders.first, kHeaders.frames, kHeaders.bytes, true);
  const ChildProcess daemon = start_daemon(place.programs.zazend, layout);

  MissesBench bench(layout, origin);
  bench.start(place.programs);
  Figures figures = {{"rounds", options.rounds}};
  for (const Load& load : kLoads) {
    Figures pass = bench.measure_pass(load, options.rounds);
    figures["passes"].push_back(pass);
  }
  Figures headers = bench.measure_headers();
  figures["headers"] = headers;
  return figures;
}

// A process of its own. For each line, "FIRST COUNT BYTES", it reads these frames of the
// dataset below `root` and answers with the seconds and its pid. At the end it prints how many
// frames it read. Its exit status.
int misses_worker(const std::string& root) {
  const BenchLayout layout{root};
  std::uint64_t count = 0, bytes = 0, frames = 0;
  std::vector<char> buffer;
  for (FrameSeq first = 0; std::cin >> first >> count >> bytes; frames += count) {
    buffer.resize(bytes);
    const Clock::time_point began = Clock::now();
    for (FrameSeq seq = first; seq < first + count; ++seq) {
      const UniqueFd fd(open(layout.origin(seq).c_str(), O_RDONLY | O_CLOEXEC));
      if (::read(fd.get(), buffer.data(), bytes) != static_cast<ssize_t>(bytes)) return 1;
    }
    const double seconds = seconds_since(began);
    std::cout << nlohmann::json({seconds, static_cast<double>(getpid())}) << std::endl;
  }
  std::cout << frames << std::endl;
  return 0;
}

}  // namespace

void add_misses_bench(CommandLine& line) {
  static MissesOptions options;
  line.benchmark(
          "misses", "Compare the first pass over uncached frames with and without Zazen.",
          "\nThe origin is a file server on FUSE whose every request takes 0.3 ms. The "
          "requests "
          "are\nthose for one frame: without Zazen, with it, and with those of the fill. At "
          "the end both\nsides read only the first 4 KB of frames of 64 MB.\n"
          "\nExample:\n  zazen-bench misses --rounds 3\n",
          [](const BenchPlace& place) { return measure(place, options); })
      .number("--rounds", &options.rounds, 1, 1'000, "How often (default: 5)");
  line.worker("misses-worker", 1, [](const auto& words) { return misses_worker(words[0]); });
}

}  // namespace zazen
