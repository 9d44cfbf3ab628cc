#include "tools/bench/benchmarks/restart_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

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
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

constexpr FrameSeq kFramesRead = 256;  // and not evicted
constexpr int kStatusSamples = 100;
constexpr int kPatienceMs = 600'000;
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr char kContent[] = "a frame";

// One origin file has so many names: a name is cheaper to make than a file.
constexpr FrameSeq kNamesOfOne = 60'000;

// Each frame has an origin, or else the daemon would find that out, and drop the copy.
Status make_origins(const BenchLayout& layout, FrameSeq frames) {
  for (FrameSeq seq = 0; seq < frames; ++seq) {
    std::string name = layout.origin(seq);
    if (seq % kNamesOfOne != 0) {
      std::string first = layout.origin(seq - seq % kNamesOfOne);
      if (link(first.c_str(), name.c_str()) != 0) return last_error(name);
      continue;
    }
    if (interruption() != 0) return Error{EINTR, name, {}};
    UniqueFd origin(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (write(origin.get(), kContent, sizeof kContent) != sizeof kContent) {
      return last_error(name);
    }
  }
  return Done{};
}

// As a daemon leaves it that fetched it an hour ago.
Status make_copy(const BenchLayout& layout, FrameSeq seq, int cache_fd,
                 const struct stat& origin) {
  OriginIdentity identity = identity_of(origin, FrameKind::kAlien, 0);
  UniqueFd copy(openat(cache_fd, layout.frame_name(seq).c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (write(copy.get(), kContent, sizeof kContent) != sizeof kContent) {
    return last_error(layout.copy(seq));
  }
  if (int code = write_identity(copy.get(), identity); code != 0) {
    return Error{code, layout.copy(seq), {}};
  }
  const time_t an_hour_ago = time(nullptr) - 3600;
  const timespec times[] = {{an_hour_ago, 0}, {an_hour_ago, 0}};
  if (futimens(copy.get(), times) != 0 || fchmod(copy.get(), kCopyMode) != 0) {
    return last_error(layout.copy(seq));
  }
  return Done{};
}

Status make_cache(const BenchLayout& layout, const RestartBenchOptions& options) {
  std::string copies = layout.cache() + layout.dataset();
  std::error_code error;
  for (const std::string& path : {layout.dataset(), layout.runtime()}) {
    std::filesystem::create_directories(path, error);
  }
  std::filesystem::create_directories(copies + "/" + kDatasetStateDirectory, error);
  for (const std::string& path : {layout.cache(), layout.runtime()}) {
    if (chmod(path.c_str(), 0700) != 0) return last_error(path);
  }
  std::ofstream config(layout.config());
  if (options.synthetic) {
    // The copies would be in a directory that is none: so the daemon cannot tell that they are
    // missing, and forgets nothing.
    std::ofstream(copies + "/no-directory");
    config << bench_configuration(layout, "no-directory/f{seq}", "");
  } else {
    config << bench_configuration(layout, kFrameTemplate, "validate = \"never\"\n");
    if (Status made = make_origins(layout, options.frames); !made) return made;
  }
  config.close();
  UniqueFd directory(open(copies.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return last_error(copies);
  Result<SequenceLog> log = SequenceLog::open(directory.get(), kAlienLog);
  if (!log) return log.error();
  std::vector<FrameSeq> some;
  struct stat origin = {};
  for (FrameSeq seq = 0; seq < options.frames; ++seq) {
    if (!options.synthetic) {
      if (seq % kNamesOfOne == 0 && stat(layout.origin(seq).c_str(), &origin) != 0) {
        return last_error(layout.origin(seq));
      }
      Status made = make_copy(layout, seq, directory.get(), origin);
      if (!made) return made;
    }
    some.push_back(seq);
    if (some.size() < 10'000 && seq + 1 < options.frames) continue;
    if (Status done = log->append(some, {}); !done) return done;
    some.clear();
    if (interruption() != 0) return Error{EINTR, copies, {}};
  }
  return Done{};
}

// Anonymous memory, in kilobytes. What is mapped from files is not the process's own.
std::uint64_t private_kb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8));
  }
  return 0;
}

class Measured {  // one daemon, and the largest figure of its memory
 public:
  static Result<Measured> start(const Programs& programs, const BenchLayout& layout,
                                StartFigures* figures) {
    Clock::time_point begin = Clock::now();
    Result<ChildProcess> daemon = start_daemon(programs.zazend, layout);
    if (!daemon) return daemon.error();
    figures->seconds = seconds_since(begin);
    Measured measured(std::move(*daemon));
    figures->private_kb = measured.look();
    Result<nlohmann::json> status = status_of(layout);
    if (!status) return status.error();
    figures->frames = status->at("used_files");
    return measured;
  }
  std::uint64_t look() {
    std::uint64_t now = private_kb(daemon.pid());
    peak_kb = std::max(peak_kb, now);
    return now;
  }

  ChildProcess daemon;
  std::uint64_t peak_kb = 0;

 private:
  explicit Measured(ChildProcess process) : daemon(std::move(process)) {}
};

// The whole of a request, as zazenctl makes it, but for the start of a process.
Result<std::vector<double>> status_times_ms(const BenchLayout& layout, int samples) {
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) {
    Clock::time_point begin = Clock::now();
    Result<nlohmann::json> status = status_of(layout);
    if (!status) return status.error();
    times.push_back(seconds_since(begin) * 1e3);
  }
  return times;
}

Result<double> wait_until_reconciled(const BenchLayout& layout, Measured& node) {
  Clock::time_point begin = Clock::now();
  for (;;) {
    Result<nlohmann::json> status = status_of(layout);
    if (!status) return status.error();
    node.look();
    if (status->at("reconciled").get<bool>()) return seconds_since(begin);
    if (interruption() != 0) return Error{EINTR, "reconciliation", {}};
    std::this_thread::sleep_for(kPause);
  }
}

Status measure_eviction(const Programs& programs, const BenchLayout& layout, Measured& node,
                        RestartFigures& figures) {
  Result<WorkerProcess> reader = WorkerProcess::start(
      {programs.self, "restart-worker", layout.dataset()}, shim_environment(programs, layout));
  if (!reader) return reader.error();
  std::vector<double> before, during, status_ms;
  for (int i = 0; i < 20; ++i) {
    Result<std::vector<double>> turn = reader->take_turn("read");
    if (!turn) return turn.error();
    before.insert(before.end(), turn->begin(), turn->end());
  }
  figures.read_p99_us = percentile(before, 0.99) / 1e3;

  std::atomic<bool> ended = false;
  Result<EvictReply> evicted = Error{EPROTO, "not evicted", {}};
  Clock::time_point begin = Clock::now();
  std::thread eviction([&] {
    Result<Client> client = Client::connect(layout.runtime(), kPatienceMs);
    if (client) {
      evicted = client->evict(layout.dataset(), kFramesRead, ~FrameSeq{0},
                              kEvictNatives | kEvictAliens);
    }
    figures.evict_seconds = seconds_since(begin);
    ended = true;
  });
  Status failed = Done{};
  while (!ended) {
    Result<std::vector<double>> turn = reader->take_turn("read");
    Result<std::vector<double>> asked = status_times_ms(layout, 1);
    if (!turn || !asked) {
      failed = turn ? asked.error() : turn.error();
      break;
    }
    during.insert(during.end(), turn->begin(), turn->end());
    status_ms.push_back(asked->front());
    node.look();
    // A reader that never rests would take one core from the eviction.
    std::this_thread::sleep_for(kPause);
  }
  eviction.join();
  if (!failed) return failed;
  if (!evicted) return evicted.error();
  if (evicted->frames != figures.frames - kFramesRead) {
    return Error{EPROTO, fmt::format("{} frames were evicted", evicted->frames), {}};
  }
  Result<nlohmann::json> status = status_of(layout);
  if (!status) return status.error();
  if (status->at("misses") != 0) return Error{EPROTO, "the reader was not served", {}};
  figures.evict_read_p99_us = percentile(during, 0.99) / 1e3;
  figures.evict_status_p99_ms = percentile(status_ms, 0.99);
  return Done{};
}

}  // namespace

Result<RestartFigures> measure_restart(const RestartBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  BenchLayout layout{root->path()};
  if (Status made = make_cache(layout, options); !made) return made.error();
  RestartFigures figures;
  figures.frames = options.frames;
  figures.synthetic = options.synthetic;
  {
    StartFigures first;
    Result<Measured> node = Measured::start(*programs, layout, &first);
    if (!node) return node.error();
    if (!options.synthetic) {
      if (Result<double> done = wait_until_reconciled(layout, *node); !done)
        return done.error();
    }
    if (node->daemon.terminate(kPatienceMs) != 0) return Error{EPROTO, "zazend's stop", {}};
  }
  {
    Result<Measured> node = Measured::start(*programs, layout, &figures.clean);
    if (!node) return node.error();
    node->daemon.kill();
  }
  Result<Measured> node = Measured::start(*programs, layout, &figures.unclean);
  if (!node) return node.error();
  Clock::time_point begin = Clock::now();
  Result<std::vector<double>> status_ms = status_times_ms(layout, kStatusSamples);
  if (!status_ms) return status_ms.error();
  figures.status_p50_ms = median(*status_ms);
  figures.status_p99_ms = percentile(*status_ms, 0.99);
  node->look();
  if (!options.synthetic) {
    if (Result<double> done = wait_until_reconciled(layout, *node); !done) return done.error();
    figures.reconcile_seconds = seconds_since(begin);
    figures.private_kb = node->look();
    Status evicted = measure_eviction(*programs, layout, *node, figures);
    if (!evicted) return evicted.error();
  }
  figures.peak_private_kb =
      std::max({node->peak_kb, figures.clean.private_kb, figures.unclean.private_kb});
  return figures;
}

void print_restart_figures(const RestartFigures& figures, bool as_json) {
  nlohmann::ordered_json all = {
      {"frames", figures.frames},
      {"synthetic", figures.synthetic},
      {"clean_start_seconds", figures.clean.seconds},
      {"clean_start_frames", figures.clean.frames},
      {"unclean_start_seconds", figures.unclean.seconds},
      {"unclean_start_frames", figures.unclean.frames},
      {"clean_start_private_mb", static_cast<double>(figures.clean.private_kb) / 1e3},
      {"unclean_start_private_mb", static_cast<double>(figures.unclean.private_kb) / 1e3},
      {"peak_private_mb", static_cast<double>(figures.peak_private_kb) / 1e3},
      {"status_p50_ms", figures.status_p50_ms},
      {"status_p99_ms", figures.status_p99_ms}};
  if (!figures.synthetic) {
    all["reconcile_seconds"] = figures.reconcile_seconds;
    all["private_mb"] = static_cast<double>(figures.private_kb) / 1e3;
    all["read_p99_us"] = figures.read_p99_us;
    all["evict_seconds"] = figures.evict_seconds;
    all["evict_read_p99_us"] = figures.evict_read_p99_us;
    all["evict_status_p99_ms"] = figures.evict_status_p99_ms;
  }
  if (as_json) {
    print_figures_json(all);
    return;
  }
  for (const auto& [name, value] : all.items()) {
    if (value.is_number_float()) {
      fmt::print("{:26} {:12.3f}\n", name, value.get<double>());
    } else if (value.is_number()) {
      fmt::print("{:26} {:>12}\n", name, format_count(value.get<std::uint64_t>()));
    }
  }
}

int restart_worker(const std::string& dataset) {
  std::uint64_t read_frames = 0;
  FrameSeq seq = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<double> times;
    for (int i = 0; i < 500; ++i) {
      seq = (seq + 101) % kFramesRead;
      std::string path = dataset + "/f" + std::to_string(seq);
      char buffer[64];
      Clock::time_point begin = Clock::now();
      int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      ssize_t got = read(fd, buffer, sizeof buffer);
      close(fd);
      times.push_back(seconds_since(begin) * 1e9);
      if (got != sizeof kContent || std::string_view(buffer) != kContent) return 1;
      ++read_frames;
    }
    std::cout << nlohmann::json(times) << std::endl;
  }
  std::cout << read_frames << std::endl;
  return 0;
}

}  // namespace zazen
