// `zazen-bench push`: how fast a writer's frames become durable on a node over TCP. In the same
// run, by turns, a plain sendfile loop with the same flushes (plain_push.h) and rsync do it. A
// ratio is that of two turns of the same round.
#include "tools/bench/benchmarks/benchmarks.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "bodhi/writer/writer.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/plain_push.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/rsync_daemon.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

struct PushOptions {
  std::uint64_t frame_bytes = 2'000'000;
  std::uint64_t frames = 100;
  int rounds = 5;
  std::vector<std::string> only;  // ways by name; none: all
};

constexpr auto kSamplePeriod = std::chrono::milliseconds(5);
constexpr int kPatienceMs = 60'000;
constexpr FrameSeq kFirstWithoutOrigin = 1'000'000'000;

// In kilobytes there.
std::uint64_t peak_memory_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

class PushBench {
 public:
  PushBench(const PushOptions& options, Programs programs, std::string root)
      : options_(options),
        programs_(std::move(programs)),
        root_(std::move(root)),
        content_(random_content(options.frame_bytes)) {}

  void prepare() {
    for (const char* name : {"/sim1", "/frames", "/plain", "/copied", "/key", "/open"}) {
      if (mkdir((root_ + name).c_str(), 0700) != 0) throw last_error(root_ + name);
    }
    if (needs_files()) make_files();
    for (bool with_key : {true, false}) {
      start_node(with_key);
    }
    PlainPush plain = take(PlainPush::start(programs_.self, root_ + "/plain"));
    plain_ = std::make_unique<PlainPush>(std::move(plain));
    add_way("plain", [this] { return take(plain_->send(files_, options_.frame_bytes)); });
    for (bool with_key : {true, false}) {
      for (bool from_files : {true, false}) {
        add_way(name_of(with_key, from_files),
                [=, this] { return push(with_key, from_files); });
      }
    }
    add_rsync();
  }

  void run_round() {
    for (Way& way : ways_) {
      if (!way.run) continue;
      if (interruption() != 0) throw Error{EINTR, way.name, {}};
      try {
        way.seconds.push_back(way.run());
      } catch (Error& error) {
        error.context = way.name + ": " + error.context;
        throw;
      }
      ::sync();
    }
    ++round_;
  }

  Figures figures() const {
    Figures all = Figures::array();
    const auto frames = static_cast<double>(options_.frames);
    for (const Way& way : ways_) {
      if (!way.left_out.empty()) all.push_back({{"way", way.name}, {"left_out", way.left_out}});
      if (way.seconds.empty()) continue;
      const double seconds = median(way.seconds);
      const Figures spread = spread_of(ratios(ways_[0].seconds, way.seconds));
      all.push_back(
          {{"way", way.name},
           {"frame_bytes", options_.frame_bytes},
           {"frames", options_.frames},
           {"seconds", seconds},
           {"bytes_per_second", frames * static_cast<double>(options_.frame_bytes) / seconds},
           {"frames_per_second", frames / seconds},
           {"ratio_to_plain", spread["ratio"]},
           {"lowest_ratio", spread["lowest_ratio"]},
           {"highest_ratio", spread["highest_ratio"]},
           {"first_tenth_frames_per_second", way.first_rate},
           {"last_tenth_frames_per_second", way.last_rate},
           {"writer_peak_bytes", way.writer_peak_bytes},
           {"daemon_peak_bytes", way.daemon_peak_bytes}});
    }
    return all;
  }

 private:
  struct Way {
    std::string name;
    std::function<double()> run;
    std::vector<double> seconds;
    std::string left_out;  // why it was not measured
    // Of a writer's last turn: frames in a second in the first and the last tenth, and the most
    // memory that the two processes had until then.
    double first_rate = 0, last_rate = 0;
    std::uint64_t writer_peak_bytes = 0, daemon_peak_bytes = 0;
  };

  static std::string name_of(bool with_key, bool from_files) {
    return fmt::format("{}_{}", with_key ? "key" : "loopback", from_files ? "files" : "memory");
  }

  bool wanted(const std::string& name) const {
    return options_.only.empty() ||
           std::ranges::find(options_.only, name) != options_.only.end();
  }

  bool needs_files() const {
    return options_.only.empty() || std::ranges::any_of(options_.only, [](const auto& name) {
             return !name.ends_with("_memory");
           });
  }

  void add_way(std::string name, std::function<double()> run) {
    Way& way = ways_.emplace_back();
    if (wanted(name)) way.run = std::move(run);
    way.name = std::move(name);
  }

  // Each round pushes frames of other names: nothing is removed in between, for some file
  // systems (ext4 without a journal) are slow for minutes after that. They are the same files.
  void make_files() {
    for (std::uint64_t i = 0; i < options_.frames; ++i) {
      std::memcpy(content_.data(), &i, std::min(sizeof i, content_.size()));
      files_.push_back(root_ + "/frames/" + std::to_string(i));
      std::ofstream file(files_.back(), std::ios::binary);
      file.write(content_.data(), static_cast<std::streamsize>(content_.size()));
      file.close();
      if (!file) throw last_error(files_.back());
      for (int round = 0; round < options_.rounds; ++round) {
        std::string name = BenchLayout{root_}.origin(number(round, i));
        if (link(files_.back().c_str(), name.c_str()) != 0) throw last_error(name);
      }
    }
    ::sync();
  }

  FrameSeq number(int round, std::uint64_t frame) const {
    return static_cast<FrameSeq>(round) * options_.frames + frame;
  }

  // Both nodes serve the same dataset.
  void start_node(bool with_key) {
    BenchLayout place{root_ + (with_key ? "/key" : "/open")};
    std::string text = bench_configuration(place, kFrameTemplate, {});
    std::string own = place.dataset(), common = BenchLayout{root_}.dataset();
    text.replace(text.find("path = \"" + own) + 8, own.size(), common);
    PushedNode node = PushedNode::start(programs_.zazend, place, with_key, text);
    (with_key ? with_key_ : without_key_) = std::make_unique<PushedNode>(std::move(node));
  }

  void add_rsync() {
    for (bool with_fsync : {false, true}) {
      add_way(with_fsync ? "rsync_fsync" : "rsync", [this, with_fsync] {
        if (!rsync_) rsync_ = std::make_unique<RsyncDaemon>(root_, root_ + "/copied");
        return rsync_->copy(root_ + "/frames", with_fsync);
      });
      Way& way = ways_.back();
      if (!way.run || access(kRsync, X_OK) == 0) continue;
      way.run = nullptr;
      way.left_out = "rsync is not installed";
    }
  }

  double push(bool with_key, bool from_files) {
    const PushedNode& node = with_key ? *with_key_ : *without_key_;
    const std::string dataset = BenchLayout{root_}.dataset();
    WriterSettings settings = node.writer_settings(dataset);

    Clock::time_point begin = Clock::now();
    std::shared_ptr<Writer> writer = take(Writer::start(std::move(settings)));
    std::atomic<bool> done = false;
    Clock::time_point tenth = begin, ninth = begin;
    std::thread sampler([&] {
      for (; !done; std::this_thread::sleep_for(kSamplePeriod)) {
        std::uint64_t pushed = writer->figures().pushed;
        if (pushed < options_.frames / 10) tenth = Clock::now();
        if (pushed < options_.frames - options_.frames / 10) ninth = Clock::now();
      }
    });
    Status queued = Done{};
    for (std::uint64_t i = 0; queued && interruption() == 0 && i < options_.frames; ++i) {
      if (!writer->await_room(kPatienceMs)) break;
      if (from_files) {
        queued = writer->write_file(dataset, number(round_, i));
      } else {
        std::memcpy(content_.data(), &i, std::min(sizeof i, content_.size()));
        queued = writer->write(dataset, kFirstWithoutOrigin + number(round_, i),
                               std::as_bytes(std::span(content_)));
      }
    }
    Status flushed = writer->flush(kPatienceMs);
    Clock::time_point end = Clock::now();
    done = true;
    sampler.join();
    std::uint64_t pushed = writer->figures().pushed;
    writer->close(0);
    take(queued);
    take(flushed);
    if (pushed != options_.frames) {
      throw Error{
          EPROTO, fmt::format("{} of {} frames were pushed", pushed, options_.frames), {}};
    }
    Way& way = *std::ranges::find(ways_, name_of(with_key, from_files), &Way::name);
    const double part = static_cast<double>(options_.frames / 10);
    way.first_rate = part / std::max(seconds_between(begin, tenth), 1e-9);
    way.last_rate = part / std::max(seconds_between(ninth, end), 1e-9);
    way.writer_peak_bytes = peak_memory_of(getpid());
    way.daemon_peak_bytes = peak_memory_of(node.daemon.pid());
    return seconds_between(begin, end);
  }

  const PushOptions options_;
  const Programs programs_;
  const std::string root_;
  std::vector<char> content_;
  std::vector<std::string> files_;
  std::unique_ptr<PushedNode> with_key_, without_key_;
  std::unique_ptr<PlainPush> plain_;
  std::unique_ptr<RsyncDaemon> rsync_;
  std::vector<Way> ways_;  // the plain one first
  int round_ = 0;
};

Figures measure(const BenchPlace& place, const PushOptions& options) {
  PushBench bench(options, place.programs, place.root);
  bench.prepare();
  for (int i = 0; i < options.rounds; ++i) bench.run_round();
  return bench.figures();
}

}  // namespace

void add_push_bench(CommandLine& line) {
  static PushOptions options;
  line.benchmark(
          "push", "Compare pushes over TCP with a plain sendfile loop and rsync.",
          "\nThe plain loop makes the same flushes as the daemon's store, and nothing else.\n"
          "\nExample:\n  zazen-bench push --frame-size 4KB --frames 1e6 --rounds 1 --only "
          "key_memory\n",
          [](const BenchPlace& place) { return measure(place, options); })
      .size("--frame-size", &options.frame_bytes, "Of each frame (default: 2MB)")
      .frames(&options.frames, 1, 1e8, "How many frames in a turn (default: 100)")
      .number("--rounds", &options.rounds, 1, 1000, "How many turns of each (default: 5)")
      .choice("--only", "WAY", &options.only,
              {"plain", "key_files", "key_memory", "loopback_files", "loopback_memory", "rsync",
               "rsync_fsync"},
              "Of the ways, these (default: all)");
  line.worker("push-receiver", 1, [](const auto& words) { return plain_receiver(words[0]); });
}

}  // namespace zazen
