// `zazen-bench restart`: how soon a daemon with many copies serves after a clean stop and after
// SIGKILL. It also measures the daemon's memory, and its answers while everything is evicted.
//
// The copies are made here as a daemon would leave them, and an origin for each. With
// `synthetic` only the sequence log is: then the frames are in the daemon's tables, and what
// needs files is not measured.
#include "tools/bench/benchmarks/benchmarks.h"

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

#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/frames/table.h"
#include "bodhi/node/client.h"
#include "bodhi/node/seqlog.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct RestartOptions {
  std::uint64_t frames = 1'000'000;
  bool synthetic = false;
};

constexpr FrameSeq kFramesRead = 256;  // and not evicted
constexpr int kStatusSamples = 100;
constexpr int kPatienceMs = 600'000;
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr char kContent[] = "a frame";

// The number of names of one origin file: a name is cheaper to make than a file.
constexpr FrameSeq kNamesOfOne = 60'000;

// Each frame has an origin, or else the daemon would find that out, and drop the copy.
void make_origins(const BenchLayout& layout, FrameSeq frames) {
  for (FrameSeq seq = 0; seq < frames; ++seq) {
    std::string name = layout.origin(seq);
    if (seq % kNamesOfOne != 0) {
      std::string first = layout.origin(seq - seq % kNamesOfOne);
      if (link(first.c_str(), name.c_str()) != 0) throw last_error(name);
      continue;
    }
    if (interruption() != 0) throw Error{EINTR, name, {}};
    UniqueFd origin(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (write(origin.get(), kContent, sizeof kContent) != sizeof kContent) {
      throw last_error(name);
    }
  }
}

// As a daemon leaves it that fetched it an hour ago.
void make_copy(const BenchLayout& layout, FrameSeq seq, int cache_fd,
               const struct stat& origin) {
  OriginIdentity identity = identity_of(origin, FrameKind::kAlien, 0);
  UniqueFd copy(openat(cache_fd, layout.frame_name(seq).c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (write(copy.get(), kContent, sizeof kContent) != sizeof kContent) {
    throw last_error(layout.copy(seq));
  }
  if (int code = write_identity(copy.get(), identity); code != 0) {
    throw Error{code, layout.copy(seq), {}};
  }
  const time_t an_hour_ago = time(nullptr) - 3600;
  const timespec times[] = {{an_hour_ago, 0}, {an_hour_ago, 0}};
  if (futimens(copy.get(), times) != 0 || fchmod(copy.get(), kCopyMode) != 0) {
    throw last_error(layout.copy(seq));
  }
}

void make_cache(const BenchLayout& layout, const RestartOptions& options) {
  std::string copies = layout.cache() + layout.dataset();
  std::error_code error;
  for (const std::string& path : {layout.dataset(), layout.runtime()}) {
    std::filesystem::create_directories(path, error);
  }
  std::filesystem::create_directories(copies + "/" + kDatasetStateDirectory, error);
  for (const std::string& path : {layout.cache(), layout.runtime()}) {
    if (chmod(path.c_str(), 0700) != 0) throw last_error(path);
  }
  std::ofstream config(layout.config());
  if (options.synthetic) {
    // The copies would be in a directory that is none: so the daemon cannot tell that they are
    // missing, and forgets nothing.
    std::ofstream(copies + "/no-directory");
    config << bench_configuration(layout, "no-directory/f{seq}", "");
  } else {
    config << bench_configuration(layout, kFrameTemplate, "validate = \"never\"\n");
    make_origins(layout, options.frames);
  }
  config.close();
  UniqueFd directory(open(copies.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) throw last_error(copies);
  SequenceLog log = take(SequenceLog::open(directory.get(), kAlienLog));
  std::vector<FrameSeq> some;
  struct stat origin = {};
  for (FrameSeq seq = 0; seq < options.frames; ++seq) {
    if (!options.synthetic) {
      if (seq % kNamesOfOne == 0 && stat(layout.origin(seq).c_str(), &origin) != 0) {
        throw last_error(layout.origin(seq));
      }
      make_copy(layout, seq, directory.get(), origin);
    }
    some.push_back(seq);
    if (some.size() < 10'000 && seq + 1 < options.frames) continue;
    take(log.append(some, {}));
    some.clear();
    if (interruption() != 0) throw Error{EINTR, copies, {}};
  }
}

// Anonymous memory, in kilobytes. Mappings of files do not count: they are shared.
std::uint64_t private_kb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8));
  }
  return 0;
}

class Measured {  // one daemon, and the largest figure of its memory
 public:
  static Measured start(const Programs& programs, const BenchLayout& layout) {
    Clock::time_point begin = Clock::now();
    ChildProcess daemon = start_daemon(programs.zazend, layout);
    Measured measured(std::move(daemon));
    measured.start_seconds = seconds_since(begin);
    measured.start_private_mb = measured.look();
    nlohmann::json status = status_of(layout);
    measured.start_frames = status.at("used_files");
    return measured;
  }

  // Megabytes of anonymous memory.
  double look() {
    const double now = static_cast<double>(private_kb(daemon.pid())) / 1e3;
    peak_private_mb = std::max(peak_private_mb, now);
    return now;
  }

  // `kind` is "clean" or "unclean".
  void add_start(const std::string& kind, Figures* figures) const {
    (*figures)[kind + "_start_seconds"] = start_seconds;
    (*figures)[kind + "_start_frames"] = start_frames;
    (*figures)[kind + "_start_private_mb"] = start_private_mb;
  }

  ChildProcess daemon;
  double peak_private_mb = 0;
  double start_seconds = 0;        // from the start of the process until programs are served
  std::uint64_t start_frames = 0;  // that it held then
  double start_private_mb = 0;

 private:
  explicit Measured(ChildProcess process) : daemon(std::move(process)) {}
};

// The whole of a request, as zazenctl makes it, but for the start of a process.
std::vector<double> status_times_ms(const BenchLayout& layout, int samples) {
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) {
    Clock::time_point begin = Clock::now();
    status_of(layout);
    times.push_back(seconds_since(begin) * 1e3);
  }
  return times;
}

void measure_eviction(const Programs& programs, const BenchLayout& layout, Measured& node,
                      Figures* figures) {
  WorkerProcess reader = take(WorkerProcess::start(
      {programs.self, "restart-worker", layout.dataset()}, shim_environment(programs, layout)));
  std::vector<double> before, during, status_ms;
  for (int i = 0; i < 20; ++i) {
    std::vector<double> turn = take(reader.take_turn("read"));
    before.insert(before.end(), turn.begin(), turn.end());
  }

  double evict_seconds = 0;
  std::atomic<bool> ended = false;
  Result<EvictReply> evicted = Error{EPROTO, "not evicted", {}};
  Clock::time_point begin = Clock::now();
  std::jthread eviction([&] {
    Result<Client> client = Client::connect(layout.runtime(), kPatienceMs);
    if (client) {
      evicted = client->evict(layout.dataset(), kFramesRead, ~FrameSeq{0},
                              kEvictNatives | kEvictAliens);
    }
    evict_seconds = seconds_since(begin);
    ended = true;
  });
  while (!ended) {
    std::vector<double> turn = take(reader.take_turn("read"));
    during.insert(during.end(), turn.begin(), turn.end());
    status_ms.push_back(status_times_ms(layout, 1).front());
    node.look();
    // A reader that never rests would take one core from the eviction.
    std::this_thread::sleep_for(kPause);
  }
  eviction.join();
  const std::uint64_t frames = take(evicted).frames;
  if (frames != node.start_frames - kFramesRead) {
    throw Error{EPROTO, fmt::format("{} frames were evicted", frames), {}};
  }
  nlohmann::json status = status_of(layout);
  if (status.at("misses") != 0) throw Error{EPROTO, "the reader was not served", {}};
  // Open, read and close of a cached frame through the shim.
  (*figures)["read_p99_us"] = percentile(before, 0.99) / 1e3;
  // All but the frames that are read meanwhile.
  (*figures)["evict_seconds"] = evict_seconds;
  (*figures)["evict_read_p99_us"] = percentile(during, 0.99) / 1e3;
  (*figures)["evict_status_p99_ms"] = percentile(status_ms, 0.99);
}

Figures measure(const BenchPlace& place, const RestartOptions& options) {
  BenchLayout layout{place.root};
  make_cache(layout, options);
  Figures figures = {{"frames", options.frames}, {"synthetic", options.synthetic}};
  double peak_private_mb = 0;
  {
    Measured node = Measured::start(place.programs, layout);
    if (!options.synthetic) {
      wait_until_reconciled(layout);
    }
    if (node.daemon.terminate(kPatienceMs) != 0) throw Error{EPROTO, "zazend's stop", {}};
  }
  {
    Measured node = Measured::start(place.programs, layout);
    node.add_start("clean", &figures);
    peak_private_mb = node.peak_private_mb;
    node.daemon.kill();
  }
  Measured node = Measured::start(place.programs, layout);
  node.add_start("unclean", &figures);
  Clock::time_point begin = Clock::now();
  // Right after the start it still reconciles.
  std::vector<double> status_ms = status_times_ms(layout, kStatusSamples);
  figures["status_p50_ms"] = median(status_ms);
  figures["status_p99_ms"] = percentile(status_ms, 0.99);
  node.look();
  if (!options.synthetic) {
    wait_until_reconciled(layout, [&] { node.look(); });
    figures["reconcile_seconds"] = seconds_since(begin);
    figures["private_mb"] = node.look();
    measure_eviction(place.programs, layout, node, &figures);
  }
  figures["peak_private_mb"] = std::max(peak_private_mb, node.peak_private_mb);
  return figures;
}

// A process of its own. For each line on stdin it opens, reads and closes some cached frames
// and answers with the nanoseconds of each. At the end it prints how many it read. Its exit
// status.
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

}  // namespace

void add_restart_bench(CommandLine& line) {
  static RestartOptions options;
  line.benchmark("restart",
                 "Start a daemon that holds many copies, after a clean stop and after SIGKILL.",
                 "\nExample:\n  zazen-bench restart --frames 1e7 --synthetic\n",
                 [](const BenchPlace& place) { return measure(place, options); })
      .frames(&options.frames, 1000, 1e8, "How many copies (default: 1e6)")
      .flag("--synthetic", &options.synthetic,
            "Only in the sequence log, without a file for each");
  line.worker("restart-worker", 1, [](const auto& words) { return restart_worker(words[0]); });
}

}  // namespace zazen
