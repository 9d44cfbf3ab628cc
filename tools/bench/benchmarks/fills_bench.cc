// `zazen-bench fills`: how much the fills slow the programs' own reads. New processes with and
// without Zazen read cold frames of a throttled file server (tests/fills/slow_origin, on FUSE),
// by turns. A ratio is that of two neighbouring turns.
#include "tools/bench/benchmarks/benchmarks.h"

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
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/slow_origin.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct FillsOptions {
  int rounds = 5;
};

constexpr std::uint64_t kMb = 1 << 20;
constexpr std::uint64_t kRate = 20 * kMb, kFrameBytes = 32 * kMb;
constexpr FrameSeq kFrames = 8;

struct FillCase {
  const char* name;
  int readers;  // each has a frame of its own
  std::uint64_t first, end, piece;
  int pause_ms;
};

constexpr FillCase kCases[] = {
    {"whole", 1, 0, kFrameBytes, kMb, 0},
    {"begin", 1, 0, 4 * kMb, kMb / 8, 0},
    {"middle", 1, kFrameBytes / 2, kFrameBytes / 2 + 4 * kMb, kMb / 8, 0},
    {"work", 1, 0, 8 * kMb, kMb, 100},
    {"begin_of_8", 8, 0, 4 * kMb, kMb / 8, 0},
    {"whole_of_8", 8, 0, kFrameBytes, kMb, 0},
};

class FillsBench {
 public:
  FillsBench(Programs programs, BenchLayout layout, const SlowOrigin& origin)
      : programs_(std::move(programs)), layout_(std::move(layout)), origin_(origin) {}

  void run_pair(const FillCase& fill_case, bool shim_first) {
    for (bool shim : {shim_first, !shim_first}) {
      origin_.forget(0, kFrames);
      std::uint64_t before = fills();
      double seconds = read_all(fill_case, shim);
      (shim ? filled_ : plain_).push_back(seconds);
      if (!shim) continue;
      origin_.control("rate 0");
      const std::uint64_t all = before + static_cast<std::uint64_t>(fill_case.readers);
      take(wait_until("the fills", [&] { return fills() == all; }));
      origin_.control("rate " + std::to_string(kRate));
    }
  }

  Figures figures(const FillCase& fill_case) {
    Figures row = {{"case", fill_case.name},
                   {"readers", fill_case.readers},
                   {"plain_seconds", median(plain_)},
                   {"filled_seconds", median(filled_)}};
    row.update(spread_of(ratios(filled_, plain_)));
    plain_.clear();
    filled_.clear();
    return row;
  }

 private:
  std::uint64_t fills() const {
    nlohmann::json status = status_of(layout_);
    return status.at("fills").get<std::uint64_t>();
  }

  // Until the last of the readers has all that it wants.
  double read_all(const FillCase& fill_case, bool shim) const {
    const std::vector<std::string> environment =
        shim ? shim_environment(programs_, layout_) : plain_environment();
    std::vector<WorkerProcess> readers;
    for (int i = 0; i < fill_case.readers; ++i) {
      readers.push_back(take(WorkerProcess::start(
          {programs_.self, "fills-worker", layout_.origin(static_cast<FrameSeq>(i)),
           std::to_string(fill_case.first), std::to_string(fill_case.end),
           std::to_string(fill_case.piece), std::to_string(fill_case.pause_ms)},
          environment)));
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
    take(failed);
    for (WorkerProcess& reader : readers) {
      std::uint64_t bytes = take(reader.finish());
      if (bytes != fill_case.end - fill_case.first) {
        throw Error{EPROTO, fmt::format("a reader got {} bytes", bytes), {}};
      }
    }
    return seconds;
  }

  const Programs programs_;
  const BenchLayout layout_;
  const SlowOrigin& origin_;
  std::vector<double> plain_, filled_;
};

Figures measure(const BenchPlace& place, const FillsOptions& options) {
  BenchLayout layout{place.root};
  std::ofstream(layout.config()) << bench_configuration(layout, kFrameTemplate, {});
  SlowOrigin origin = SlowOrigin::mount(place.programs, layout, kRate);
  origin.make_frames(0, kFrames, kFrameBytes, false);
  const ChildProcess daemon = start_daemon(place.programs.zazend, layout);

  FillsBench bench(place.programs, layout, origin);
  Figures figures = Figures::array();
  for (const FillCase& fill_case : kCases) {
    for (int i = 0; i < options.rounds; ++i) bench.run_pair(fill_case, i % 2 == 1);
    figures.push_back(bench.figures(fill_case));
  }
  return figures;
}

struct FrameReading {  // what one reader does
  std::string path;
  std::uint64_t first, end;  // bytes
  std::uint64_t piece;
  int pause_ms;  // of work, after each piece
};

// A process of its own: reads once a line comes, and answers with the seconds; at the end, how
// many bytes it read. Its exit status.
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

}  // namespace

void add_fills_bench(CommandLine& line) {
  static FillsOptions options;
  line.benchmark("fills",
                 "Compare reads of a throttled file server's frames with and without Zazen.",
                 "\nIt needs FUSE. A round takes about 40 seconds.\n"
                 "\nExample:\n  zazen-bench fills --rounds 3\n",
                 [](const BenchPlace& place) { return measure(place, options); })
      .number("--rounds", &options.rounds, 1, 1000, "Pairs of each case (default: 5)");
  line.worker("fills-worker", 5, [](const auto& words) {
    return fills_worker({words[0], std::stoull(words[1]), std::stoull(words[2]),
                         std::stoull(words[3]), std::stoi(words[4])});
  });
}

}  // namespace zazen
