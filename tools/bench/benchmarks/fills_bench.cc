#include "tools/bench/benchmarks/fills_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "bodhi/common/unique_fd.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/slow_origin.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

constexpr std::uint64_t kMb = 1 << 20;
constexpr std::uint64_t kRate = 20 * kMb, kFrameBytes = 32 * kMb;
constexpr FrameSeq kFrames = 8;

struct FillCase {
  const char* name;
  const char* title;
  int readers;  // each has a frame of its own
  std::uint64_t first, end, piece;
  int pause_ms;
};

constexpr FillCase kCases[] = {
    {"whole", "the whole frame", 1, 0, kFrameBytes, kMb, 0},
    {"begin", "its first 4 MB", 1, 0, 4 * kMb, kMb / 8, 0},
    {"middle", "4 MB in its middle", 1, kFrameBytes / 2, kFrameBytes / 2 + 4 * kMb, kMb / 8, 0},
    {"work", "8 MB, with 0.1 s of work after each", 1, 0, 8 * kMb, kMb, 100},
    {"begin_of_8", "the first 4 MB of 8 frames at once", 8, 0, 4 * kMb, kMb / 8, 0},
    {"whole_of_8", "8 whole frames at once", 8, 0, kFrameBytes, kMb, 0},
};

class FillsBench {
 public:
  FillsBench(Programs programs, BenchLayout layout, const SlowOrigin& origin)
      : programs_(std::move(programs)), layout_(std::move(layout)), origin_(origin) {}

  Status run_pair(const FillCase& fill_case, bool shim_first) {
    for (bool shim : {shim_first, !shim_first}) {
      if (Status done = origin_.forget(0, kFrames); !done) return done;
      Result<std::uint64_t> before = fills();
      if (!before) return before.error();
      Result<double> seconds = read_all(fill_case, shim);
      if (!seconds) return seconds.error();
      (shim ? filled_ : plain_).push_back(*seconds);
      if (!shim) continue;
      origin_.control("rate 0");
      Status filled = wait_until("the fills", [&]() -> Result<bool> {
        Result<std::uint64_t> now = fills();
        if (!now) return now.error();
        return *now == *before + static_cast<std::uint64_t>(fill_case.readers);
      });
      origin_.control("rate " + std::to_string(kRate));
      if (!filled) return filled;
    }
    return Done{};
  }

  FillFigures figures(const FillCase& fill_case) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < plain_.size(); ++i) ratios.push_back(filled_[i] / plain_[i]);
    FillFigures figures{fill_case.name,
                        fill_case.title,
                        fill_case.readers,
                        median(plain_),
                        median(filled_),
                        median(ratios),
                        *std::ranges::min_element(ratios),
                        *std::ranges::max_element(ratios)};
    plain_.clear();
    filled_.clear();
    return figures;
  }

 private:
  Result<std::uint64_t> fills() const {
    Result<nlohmann::json> status = status_of(layout_);
    if (!status) return status.error();
    return status->at("fills").get<std::uint64_t>();
  }

  // Until the last of the readers has all that it wants.
  Result<double> read_all(const FillCase& fill_case, bool shim) const {
    const std::vector<std::string> environment =
        shim ? shim_environment(programs_, layout_) : plain_environment();
    std::vector<WorkerProcess> readers;
    for (int i = 0; i < fill_case.readers; ++i) {
      Result<WorkerProcess> reader = WorkerProcess::start(
          {programs_.self, "fills-worker", layout_.origin(static_cast<FrameSeq>(i)),
           std::to_string(fill_case.first), std::to_string(fill_case.end),
           std::to_string(fill_case.piece), std::to_string(fill_case.pause_ms)},
          environment);
      if (!reader) return reader.error();
      readers.push_back(std::move(*reader));
    }
    Status failed = Done{};
    std::mutex mutex;
    std::vector<std::thread> threads;
    Clock::time_point begin = Clock::now();
    for (WorkerProcess& reader : readers) {
      threads.emplace_back([&] {
        Result<std::vector<double>> turn = reader.take_turn("read");
        std::lock_guard lock(mutex);
        if (!turn) failed = turn.error();
      });
    }
    for (std::thread& thread : threads) thread.join();
    double seconds = seconds_since(begin);
    if (!failed) return failed.error();
    for (WorkerProcess& reader : readers) {
      Result<std::uint64_t> bytes = reader.finish();
      if (!bytes) return bytes.error();
      if (*bytes != fill_case.end - fill_case.first) {
        return Error{EPROTO, fmt::format("a reader got {} bytes", *bytes), {}};
      }
    }
    return seconds;
  }

  const Programs programs_;
  const BenchLayout layout_;
  const SlowOrigin& origin_;
  std::vector<double> plain_, filled_;
};

}  // namespace

Result<std::vector<FillFigures>> measure_fills(const FillsBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  BenchLayout layout{root->path()};
  std::ofstream(layout.config()) << bench_configuration(layout, kFrameTemplate, {});
  Result<SlowOrigin> origin = SlowOrigin::mount(*programs, layout, kRate);
  if (!origin) return origin.error();
  if (Status made = origin->make_frames(0, kFrames, kFrameBytes, false); !made) {
    return made.error();
  }
  Result<ChildProcess> daemon = start_daemon(programs->zazend, layout);
  if (!daemon) return daemon.error();

  FillsBench bench(*programs, layout, *origin);
  std::vector<FillFigures> figures;
  for (const FillCase& fill_case : kCases) {
    for (int i = 0; i < options.rounds; ++i) {
      if (Status done = bench.run_pair(fill_case, i % 2 == 1); !done) return done.error();
    }
    figures.push_back(bench.figures(fill_case));
  }
  return figures;
}

void print_fill_figures(const std::vector<FillFigures>& figures, bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const FillFigures& one : figures) {
    if (as_json) {
      all.push_back({{"case", one.name},
                     {"readers", one.readers},
                     {"plain_seconds", one.plain_seconds},
                     {"filled_seconds", one.filled_seconds},
                     {"ratio", one.ratio},
                     {"lowest_ratio", one.lowest_ratio},
                     {"highest_ratio", one.highest_ratio}});
    } else {
      fmt::print(
          "{:38} plain {:6.2f} s   with fills {:6.2f} s   ratio {:.3f} ({:.3f} to {:.3f})\n",
          one.title, one.plain_seconds, one.filled_seconds, one.ratio, one.lowest_ratio,
          one.highest_ratio);
    }
  }
  if (as_json) print_figures_json(all);
}

int fills_worker(const FrameReading& reading) {
  std::uint64_t read_bytes = 0;
  std::vector<char> buffer(reading.piece);
  for (std::string line; std::getline(std::cin, line);) {
    Clock::time_point begin = Clock::now();
    UniqueFd fd(open(reading.path.c_str(), O_RDONLY | O_CLOEXEC));
    for (std::uint64_t at = reading.first; at < reading.end;) {
      std::size_t size = std::min(reading.piece, reading.end - at);
      ssize_t got = pread(fd.get(), buffer.data(), size, static_cast<off_t>(at));
      if (got <= 0) return 1;
      at += static_cast<std::uint64_t>(got);
      read_bytes += static_cast<std::uint64_t>(got);
      std::this_thread::sleep_for(std::chrono::milliseconds(reading.pause_ms));
    }
    std::cout << nlohmann::json({seconds_since(begin)}) << std::endl;
  }
  std::cout << read_bytes << std::endl;
  return 0;
}

}  // namespace zazen
