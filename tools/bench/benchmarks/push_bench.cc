#include "tools/bench/benchmarks/push_bench.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "bodhi/common/units.h"
#include "bodhi/writer/writer.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/other_copiers.h"
#include "tools/bench/support/plain_push.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"

namespace zazen {
namespace {

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
  PushBench(const PushBenchOptions& options, Programs programs, std::string root)
      : options_(options),
        programs_(std::move(programs)),
        root_(std::move(root)),
        content_(random_content(options.frame_bytes)) {}

  Status prepare() {
    for (const char* name : {"/sim1", "/frames", "/plain", "/copied", "/key", "/open"}) {
      if (mkdir((root_ + name).c_str(), 0700) != 0) return last_error(root_ + name);
    }
    if (needs_files()) {
      if (Status made = make_files(); !made) return made;
    }
    for (bool with_key : {true, false}) {
      if (Status up = start_node(with_key); !up) return up;
    }
    Result<PlainPush> plain = PlainPush::start(programs_.self, root_ + "/plain");
    if (!plain) return plain.error();
    plain_ = std::make_unique<PlainPush>(std::move(*plain));
    add_way("plain", "sendfile loop, the same flushes",
            [this] { return plain_->send(files_, options_.frame_bytes); });
    for (bool with_key : {true, false}) {
      for (bool from_files : {true, false}) {
        add_way(fmt::format("{}_{}", with_key ? "key" : "loopback",
                            from_files ? "files" : "memory"),
                fmt::format("writer, {}, frames in {}", with_key ? "with a key" : "no key",
                            from_files ? "files" : "memory"),
                [this, with_key, from_files] { return push(with_key, from_files); });
      }
    }
    return add_other_copiers();
  }

  Status run_round() {
    for (Way& way : ways_) {
      if (!way.run) continue;
      if (interruption() != 0) return Error{EINTR, way.figures.name, {}};
      Result<double> seconds = way.run();
      if (!seconds) {
        Error error = seconds.error();
        error.context = way.figures.name + ": " + error.context;
        return error;
      }
      way.seconds.push_back(*seconds);
      ::sync();
    }
    ++round_;
    return Done{};
  }

  std::vector<PushFigures> figures() {
    std::vector<PushFigures> all;
    const std::vector<double>& plain = ways_[0].seconds;
    for (Way& way : ways_) {
      PushFigures& one = way.figures;
      one.frame_bytes = options_.frame_bytes;
      one.frames = options_.frames;
      if (!way.seconds.empty()) {
        one.seconds = median(way.seconds);
        std::vector<double> ratios;
        for (std::size_t i = 0; i < std::min(plain.size(), way.seconds.size()); ++i) {
          ratios.push_back(plain[i] / way.seconds[i]);
        }
        one.ratio = median(ratios);
        if (!ratios.empty()) {
          one.lowest_ratio = *std::ranges::min_element(ratios);
          one.highest_ratio = *std::ranges::max_element(ratios);
        }
      }
      if (!way.seconds.empty() || !one.left_out.empty()) all.push_back(one);
    }
    return all;
  }

 private:
  struct Way {
    PushFigures figures;
    std::function<Result<double>()> run;
    std::vector<double> seconds;
  };

  bool wanted(const std::string& name) const {
    return options_.only.empty() ||
           std::ranges::find(options_.only, name) != options_.only.end();
  }

  bool needs_files() const {
    return options_.only.empty() || std::ranges::any_of(options_.only, [](const auto& name) {
             return !name.ends_with("_memory");
           });
  }

  void add_way(std::string name, std::string title, std::function<Result<double>()> run) {
    Way way;
    if (wanted(name)) way.run = std::move(run);
    way.figures.name = std::move(name);
    way.figures.title = std::move(title);
    ways_.push_back(std::move(way));
  }

  // Each round pushes frames of other names: nothing is removed in between, for some file
  // systems (ext4 without a journal) are slow for minutes after that. They are the same files.
  Status make_files() {
    for (std::uint64_t i = 0; i < options_.frames; ++i) {
      std::memcpy(content_.data(), &i, std::min(sizeof i, content_.size()));
      files_.push_back(root_ + "/frames/" + std::to_string(i));
      std::ofstream file(files_.back(), std::ios::binary);
      file.write(content_.data(), static_cast<std::streamsize>(content_.size()));
      file.close();
      if (!file) return last_error(files_.back());
      for (int round = 0; round < options_.rounds; ++round) {
        std::string name = BenchLayout{root_}.origin(number(round, i));
        if (link(files_.back().c_str(), name.c_str()) != 0) return last_error(name);
      }
    }
    ::sync();
    return Done{};
  }

  FrameSeq number(int round, std::uint64_t frame) const {
    return static_cast<FrameSeq>(round) * options_.frames + frame;
  }

  // Both nodes serve the same dataset.
  Status start_node(bool with_key) {
    BenchLayout place{root_ + (with_key ? "/key" : "/open")};
    std::string text = bench_configuration(place, kFrameTemplate, {});
    std::string own = place.dataset(), common = BenchLayout{root_}.dataset();
    text.replace(text.find("path = \"" + own) + 8, own.size(), common);
    Result<PushedNode> node = PushedNode::start(programs_.zazend, place, with_key, text);
    if (!node) return node.error();
    (with_key ? with_key_ : without_key_) = std::make_unique<PushedNode>(std::move(*node));
    return Done{};
  }

  Status add_other_copiers() {
    auto add = [this](const char* name, const char* title,
                      Result<OtherCopier> (*start)(const std::string&, const std::string&),
                      std::unique_ptr<OtherCopier>& copier, bool with_fsync) -> Status {
      add_way(name, title, [this, &copier, with_fsync] {
        return copier->copy(root_ + "/frames", with_fsync);
      });
      if (!wanted(name) || copier) return Done{};
      Result<OtherCopier> started = start(root_, root_ + "/copied");
      if (started) {
        copier = std::make_unique<OtherCopier>(std::move(*started));
      } else if (started.error().code == ENOENT) {
        ways_.back().run = nullptr;
        ways_.back().figures.left_out = started.error().context;
      } else {
        return started.error();
      }
      return Done{};
    };
    Status done = add("rsync", "rsync, no flush", OtherCopier::rsync, rsync_, false);
    if (done) done = add("rsync_fsync", "rsync --fsync", OtherCopier::rsync, rsync_, true);
    if (done) done = add("scp", "scp, no flush", OtherCopier::scp, scp_, false);
    return done;
  }

  Result<double> push(bool with_key, bool from_files) {
    const PushedNode& node = with_key ? *with_key_ : *without_key_;
    const std::string dataset = BenchLayout{root_}.dataset();
    Result<WriterSettings> settings = node.writer_settings(dataset);
    if (!settings) return settings.error();

    Clock::time_point begin = Clock::now();
    Result<std::shared_ptr<Writer>> writer = Writer::start(std::move(*settings));
    if (!writer) return writer.error();
    std::atomic<bool> done = false;
    Clock::time_point tenth = begin, ninth = begin;
    std::thread sampler([&] {
      for (; !done; std::this_thread::sleep_for(kSamplePeriod)) {
        std::uint64_t pushed = (*writer)->figures().pushed;
        if (pushed < options_.frames / 10) tenth = Clock::now();
        if (pushed < options_.frames - options_.frames / 10) ninth = Clock::now();
      }
    });
    Status queued = Done{};
    for (std::uint64_t i = 0; queued && interruption() == 0 && i < options_.frames; ++i) {
      if (!(*writer)->await_room(kPatienceMs)) break;
      if (from_files) {
        queued = (*writer)->write_file(dataset, number(round_, i));
      } else {
        std::memcpy(content_.data(), &i, std::min(sizeof i, content_.size()));
        queued = (*writer)->write(dataset, kFirstWithoutOrigin + number(round_, i),
                                  std::as_bytes(std::span(content_)));
      }
    }
    Status flushed = (*writer)->flush(kPatienceMs);
    Clock::time_point end = Clock::now();
    done = true;
    sampler.join();
    std::uint64_t pushed = (*writer)->figures().pushed;
    (*writer)->close(0);
    if (!queued) return queued.error();
    if (!flushed) return flushed.error();
    if (pushed != options_.frames) {
      return Error{
          EPROTO, fmt::format("{} of {} frames were pushed", pushed, options_.frames), {}};
    }
    PushFigures& figures =
        std::ranges::find_if(ways_, [&](const Way& way) {
          return way.figures.name == fmt::format("{}_{}", with_key ? "key" : "loopback",
                                                 from_files ? "files" : "memory");
        })->figures;
    const double part = static_cast<double>(options_.frames / 10);
    figures.first_rate = part / std::max(seconds_between(begin, tenth), 1e-9);
    figures.last_rate = part / std::max(seconds_between(ninth, end), 1e-9);
    figures.writer_peak_bytes = peak_memory_of(getpid());
    figures.daemon_peak_bytes = peak_memory_of(node.daemon.pid());
    return seconds_between(begin, end);
  }

  const PushBenchOptions options_;
  const Programs programs_;
  const std::string root_;
  std::vector<char> content_;
  std::vector<std::string> files_;
  std::unique_ptr<PushedNode> with_key_, without_key_;
  std::unique_ptr<PlainPush> plain_;
  std::unique_ptr<OtherCopier> rsync_, scp_;
  std::vector<Way> ways_;  // the plain one first
  int round_ = 0;
};

}  // namespace

Result<std::vector<PushFigures>> measure_push(const PushBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  PushBench bench(options, *programs, root->path());
  if (Status ready = bench.prepare(); !ready) return ready.error();
  for (int i = 0; i < options.rounds; ++i) {
    if (Status done = bench.run_round(); !done) return done.error();
  }
  return bench.figures();
}

void print_push_figures(const std::vector<PushFigures>& figures, bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PushFigures& one : figures) {
    const double frames = static_cast<double>(one.frames);
    const double bytes = frames * static_cast<double>(one.frame_bytes);
    if (!one.left_out.empty()) {
      if (as_json) all.push_back({{"way", one.name}, {"left_out", one.left_out}});
      if (!as_json) fmt::print("{:36} left out: {}\n", one.title, one.left_out);
    } else if (as_json) {
      all.push_back({{"way", one.name},
                     {"frame_bytes", one.frame_bytes},
                     {"frames", one.frames},
                     {"seconds", one.seconds},
                     {"bytes_per_second", bytes / one.seconds},
                     {"frames_per_second", frames / one.seconds},
                     {"ratio_to_plain", one.ratio},
                     {"lowest_ratio", one.lowest_ratio},
                     {"highest_ratio", one.highest_ratio},
                     {"first_tenth_frames_per_second", one.first_rate},
                     {"last_tenth_frames_per_second", one.last_rate},
                     {"writer_peak_bytes", one.writer_peak_bytes},
                     {"daemon_peak_bytes", one.daemon_peak_bytes}});
    } else {
      fmt::print(
          "{:36} {:7.2f} s  {:>10}/s  {:9.0f} frames/s  {:.2f} of plain ({:.2f} to {:.2f})\n",
          one.title, one.seconds, format_size(static_cast<std::uint64_t>(bytes / one.seconds)),
          frames / one.seconds, one.ratio, one.lowest_ratio, one.highest_ratio);
      if (one.daemon_peak_bytes > 0) {
        fmt::print("{:36} first tenth {:.0f}, last tenth {:.0f} frames/s; at most {} and {}\n",
                   "", one.first_rate, one.last_rate, format_size(one.writer_peak_bytes),
                   format_size(one.daemon_peak_bytes));
      }
    }
  }
  if (as_json) print_figures_json(all);
}

}  // namespace zazen
