#include "tools/bench/benchmarks/misses_bench.h"

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
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/slow_origin.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

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

  Status start(const Programs& programs) {
    for (bool shim : {false, true}) {
      Result<WorkerProcess> reader = WorkerProcess::start(
          {programs.self, "misses-worker", layout_.root},
          shim ? shim_environment(programs, layout_) : plain_environment());
      if (!reader) return reader.error();
      readers_[shim].emplace(std::move(*reader));
    }
    return Done{};
  }

  Result<MissFigures::Pass> measure(const Load& load, int rounds) {
    std::vector<double> seconds[2], ratios;
    MissFigures::Pass pass{load.bytes, load.frames};
    for (int i = 0; i < rounds; ++i) {
      for (bool shim : {i % 2 == 1, i % 2 == 0}) {
        Result<Turn> turn = read(load, load.bytes, shim);
        if (!turn) return turn.error();
        seconds[shim].push_back(turn->seconds);
        if (Status filled = shim ? settle() : Done{}; !filled) return filled.error();
        const auto frames = static_cast<double>(load.frames);
        (shim ? pass.program_requests : pass.plain_requests) =
            static_cast<double>(turn->requests) / frames;
        if (shim) {
          pass.all_requests = static_cast<double>(origin_.sum(".requests")) / frames;
        }
      }
      ratios.push_back(seconds[true].back() / seconds[false].back());
    }
    pass.plain_seconds = median(seconds[false]);
    pass.missed_seconds = median(seconds[true]);
    pass.ratio = median(ratios);
    pass.lowest_ratio = *std::ranges::min_element(ratios);
    pass.highest_ratio = *std::ranges::max_element(ratios);
    return pass;
  }

  // Once: the rest of the frames comes when programs have been quiet for long.
  Result<MissFigures::Headers> measure_headers() {
    MissFigures::Headers headers{kHeaders.bytes, kHeaders.frames,
                                 kHeaders.frames * kHeaderBytes};
    headers.seconds_after = std::chrono::duration<double>(kAfterHeaders).count();
    for (bool shim : {false, true}) {
      Result<Turn> turn = read(kHeaders, kHeaderBytes, shim);
      if (!turn) return turn.error();
      if (shim) std::this_thread::sleep_for(kAfterHeaders);
      (shim ? headers.missed_seconds : headers.plain_seconds) = turn->seconds;
      (shim ? headers.sent : headers.plain_sent) = origin_.sum(".sent");
    }
    return headers;
  }

 private:
  struct Turn {
    double seconds;
    std::uint64_t requests;  // of the reader
  };

  Result<Turn> read(const Load& load, std::uint64_t bytes, bool shim) {
    origin_.control("delay 0");
    if (Status done = origin_.forget(load.first, load.frames); !done) return done.error();
    origin_.control("reset");
    origin_.control(kDelay);
    Result<std::vector<double>> turn =
        readers_[shim]->take_turn(fmt::format("{} {} {}", load.first, load.frames, bytes));
    if (!turn) return turn.error();
    const auto pid = static_cast<pid_t>(turn->at(1));
    return Turn{turn->at(0), origin_.sum(".requests", std::to_string(pid))};
  }

  Status settle() const {
    return wait_until("the fills", [&]() -> Result<bool> {
      Result<nlohmann::json> status = status_of(layout_);
      if (!status) return status.error();
      return status->at("fills_under_way") == 0;
    });
  }

  const BenchLayout layout_;
  const SlowOrigin& origin_;
  std::optional<WorkerProcess> readers_[2];  // plain, shim
};

}  // namespace

Result<MissFigures> measure_misses(const MissesBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  const BenchLayout layout{root->path()};
  std::ofstream(layout.config()) << bench_configuration(layout, kFrameTemplate, {});
  Result<SlowOrigin> origin = SlowOrigin::mount(*programs, layout, 0);
  if (!origin) return origin.error();
  for (const Load& load : kLoads) {
    Status made = origin->make_frames(load.first, load.frames, load.bytes, false);
    if (!made) return made.error();
  }
  Status made = origin->make_frames(kHeaders.first, kHeaders.frames, kHeaders.bytes, true);
  if (!made) return made.error();
  Result<ChildProcess> daemon = start_daemon(programs->zazend, layout);
  if (!daemon) return daemon.error();

  MissesBench bench(layout, *origin);
  if (Status started = bench.start(*programs); !started) return started.error();
  MissFigures figures;
  figures.rounds = options.rounds;
  for (const Load& load : kLoads) {
    Result<MissFigures::Pass> pass = bench.measure(load, options.rounds);
    if (!pass) return pass.error();
    figures.passes.push_back(*pass);
  }
  Result<MissFigures::Headers> headers = bench.measure_headers();
  if (!headers) return headers.error();
  figures.headers = *headers;
  return figures;
}

void print_miss_figures(const MissFigures& figures, bool as_json) {
  const MissFigures::Headers& headers = figures.headers;
  if (!as_json) {
    for (const MissFigures::Pass& pass : figures.passes) {
      fmt::print(
          "{:6} frames of {:6} bytes   plain {:6.3f} s   missed {:6.3f} s   ratio {:.3f} "
          "({:.3f} "
          "to {:.3f})   requests {:.2f}, {:.2f}, with the fill {:.2f}\n",
          pass.frames, pass.bytes, pass.plain_seconds, pass.missed_seconds, pass.ratio,
          pass.lowest_ratio, pass.highest_ratio, pass.plain_requests, pass.program_requests,
          pass.all_requests);
    }
    fmt::print(
        "headers of {} frames of {} bytes   plain {:.3f} s   missed {:.3f} s   read {} bytes, "
        "sent "
        "{}, and {} until {} s after it\n",
        headers.frames, headers.bytes, headers.plain_seconds, headers.missed_seconds,
        headers.read_bytes, headers.plain_sent, headers.sent, headers.seconds_after);
    return;
  }
  nlohmann::ordered_json all = {{"rounds", figures.rounds}};
  for (const MissFigures::Pass& pass : figures.passes) {
    all["passes"].push_back({{"bytes", pass.bytes},
                             {"frames", pass.frames},
                             {"plain_seconds", pass.plain_seconds},
                             {"missed_seconds", pass.missed_seconds},
                             {"ratio", pass.ratio},
                             {"lowest_ratio", pass.lowest_ratio},
                             {"highest_ratio", pass.highest_ratio},
                             {"plain_requests_per_frame", pass.plain_requests},
                             {"program_requests_per_frame", pass.program_requests},
                             {"all_requests_per_frame", pass.all_requests}});
  }
  all["headers"] = {{"bytes", headers.bytes},
                    {"frames", headers.frames},
                    {"read_bytes", headers.read_bytes},
                    {"plain_seconds", headers.plain_seconds},
                    {"missed_seconds", headers.missed_seconds},
                    {"plain_sent_bytes", headers.plain_sent},
                    {"sent_bytes", headers.sent},
                    {"seconds_after", headers.seconds_after}};
  print_figures_json(all);
}

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

}  // namespace zazen
