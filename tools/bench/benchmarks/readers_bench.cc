#include "tools/bench/benchmarks/readers_bench.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "bodhi/common/units.h"
#include "bodhi/node/client.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/paced_writer.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

// 1 GB/s into 100 nodes that read 20 GB/s.
constexpr double kShareOfPaper = 0.05;
constexpr double kPatienceSeconds = 120;
constexpr int kPatienceMs = 120'000;
constexpr auto kPause = std::chrono::milliseconds(5);
constexpr std::size_t kPieceBytes = 1 << 20;

struct ReadFrames {  // of one size
  std::uint64_t size;
  FrameSeq first, end;
};

struct Turn {
  double seconds = 0;
  double read_bytes = 0, pushed_bytes = 0;

  double read_rate() const { return read_bytes / seconds; }
};

struct Pair {  // of sizes
  ReadFrames read;
  std::span<const char> written;
  std::vector<double> alone, beside, ratios, rates;
  double pushed_bytes = 0, pushed_seconds = 0;
};

class ReadersBench {
 public:
  ReadersBench(const ReadersBenchOptions& options, Programs programs, std::string root)
      : options_(options),
        programs_(std::move(programs)),
        layout_{std::move(root)},
        content_(random_content(std::max(std::ranges::max(options.read_sizes),
                                         std::ranges::max(options.write_sizes)))) {}

  Status prepare() {
    for (const std::string& directory : {layout_.dataset(), written_dataset()}) {
      if (mkdir(directory.c_str(), 0755) != 0) return last_error(directory);
    }
    const std::string more = fmt::format("\n[[dataset]]\npath = \"{}\"\nframes = \"{}\"\n",
                                         written_dataset(), kFrameTemplate);
    Result<PushedNode> node = PushedNode::start(
        programs_.zazend, layout_, true, bench_configuration(layout_, kFrameTemplate, more));
    if (!node) return node.error();
    node_ = std::make_unique<PushedNode>(std::move(*node));
    if (Status made = make_frames(); !made) return made;
    if (Status pushed = push_frames(); !pushed) return pushed;
    return start_readers();
  }

  Status run() {
    for (const ReadFrames& frames : frames_) {
      const std::size_t first = pairs_.size();
      for (std::uint64_t size : options_.write_sizes) {
        pairs_.push_back({frames, std::span(content_).first(size), {}, {}, {}, {}});
      }
      // What has just been written may be in memory yet.
      for (int i = 0; i < 2; ++i) {
        if (Result<Turn> turn = read_alone(frames, 0); !turn) return turn.error();
      }
      for (int round = 0; round < options_.rounds; ++round) {
        for (std::size_t i = first; i < pairs_.size(); ++i) {
          if (Status done = run_pair(pairs_[i], round % 2 == 1); !done) return done;
        }
      }
    }
    return check_reads();
  }

  std::vector<ReadersFigures> figures() const {
    std::vector<ReadersFigures> all;
    for (const Pair& pair : pairs_) {
      all.push_back({pair.read.size, pair.written.size(), median(pair.alone),
                     median(pair.beside), median(pair.ratios),
                     *std::ranges::min_element(pair.ratios),
                     *std::ranges::max_element(pair.ratios), median(pair.rates),
                     pair.pushed_bytes / pair.pushed_seconds,
                     static_cast<std::uint64_t>(pair.pushed_bytes)});
    }
    return all;
  }

 private:
  // Its frames have no origin.
  std::string written_dataset() const { return layout_.root + "/sim2"; }

  // All frames of a size are names of one origin file; each copy is a file of its own.
  Status make_frames() {
    FrameSeq next = 0;
    for (std::uint64_t size : options_.read_sizes) {
      const std::uint64_t least = static_cast<std::uint64_t>(options_.readers);
      const std::uint64_t count = std::max((options_.read_bytes + size - 1) / size, least);
      frames_.push_back({size, next, next + count});
      const std::string file = layout_.origin(next);
      std::ofstream(file, std::ios::binary)
          .write(content_.data(), static_cast<std::streamsize>(size));
      while (++next < frames_.back().end) {
        const std::string name = layout_.origin(next);
        if (link(file.c_str(), name.c_str()) != 0) return last_error(name);
      }
    }
    ::sync();
    return Done{};
  }

  Status push_frames() {
    Result<WriterSettings> settings = node_->writer_settings(layout_.dataset());
    if (!settings) return settings.error();
    Result<std::shared_ptr<Writer>> writer = Writer::start(std::move(*settings));
    if (!writer) return writer.error();
    Status done = Done{};
    const FrameSeq end = frames_.back().end;
    for (FrameSeq seq = 0; done && seq < end; ++seq) {
      done = (*writer)->write_file(layout_.dataset(), seq);
    }
    while (done && interruption() == 0 && (*writer)->figures().waiting > 0) {
      std::this_thread::sleep_for(kPause);
    }
    const std::uint64_t pushed = (*writer)->figures().pushed;
    (*writer)->close(0);
    if (!done) return done;
    if (interruption() != 0) return Error{EINTR, "pushes", {}};
    if (pushed == end) return Done{};
    return Error{EPROTO, fmt::format("{} of {} frames were pushed", pushed, end),
                 "--dir names a directory with more room"};
  }

  Status start_readers() {
    for (int i = 0; i < options_.readers; ++i) {
      Result<WorkerProcess> reader =
          WorkerProcess::start({programs_.self, "readers-worker", layout_.root},
                               shim_environment(programs_, layout_));
      if (!reader) return reader.error();
      readers_.push_back(std::move(*reader));
    }
    return Done{};
  }

  Status run_pair(Pair& pair, bool writer_first) {
    const double rate =
        options_.rate > 0 ? static_cast<double>(options_.rate) : kShareOfPaper * alone_;
    // So long that whole frames come at this rate.
    const double period = static_cast<double>(pair.written.size()) / rate;
    const double seconds = std::ceil(options_.turn_seconds / period) * period;
    Turn alone, beside;
    for (bool with_writer : {writer_first, !writer_first}) {
      Result<Turn> turn = with_writer
                              ? read_beside_writer(pair.read, seconds, pair.written, rate)
                              : read_alone(pair.read, seconds);
      if (!turn) return turn.error();
      (with_writer ? beside : alone) = *turn;
    }
    pair.alone.push_back(alone.read_rate());
    pair.beside.push_back(beside.read_rate());
    pair.ratios.push_back(beside.read_rate() / alone.read_rate());
    pair.rates.push_back(rate);
    pair.pushed_bytes += beside.pushed_bytes;
    pair.pushed_seconds += beside.seconds;
    return Done{};
  }

  Result<Turn> read_alone(const ReadFrames& frames, double seconds) {
    Result<Turn> turn =
        read_all(frames, [&](double passed_seconds) { return passed_seconds < seconds; });
    if (turn) alone_ = turn->read_rate();
    return turn;
  }

  Result<Turn> read_beside_writer(const ReadFrames& frames, double seconds,
                                  std::span<const char> content, double rate) {
    Result<std::unique_ptr<PacedWriter>> writer =
        PacedWriter::start(*node_, written_dataset(), content, rate);
    if (!writer) return writer.error();
    Result<Turn> turn = read_all(frames, [&](double passed_seconds) {
      return passed_seconds < seconds || (*writer)->pushed_bytes() == 0;
    });
    if (!turn) return turn.error();
    turn->pushed_bytes = static_cast<double>((*writer)->pushed_bytes());
    if (Status finished = (*writer)->finish(); !finished) return finished.error();
    if (Status dropped = drop_written(); !dropped) return dropped.error();
    return turn;
  }

  // Each reader has its share of the frames, and goes through it until it has done enough.
  template <class More>
  Result<Turn> read_all(const ReadFrames& frames, More more) {
    Status failed = Done{};
    Turn turn;
    std::mutex mutex;
    std::vector<std::thread> threads;
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      threads.emplace_back([&, i] {
        Result<double> bytes = read_share(frames, i, begin, more);
        std::lock_guard lock(mutex);
        if (bytes) turn.read_bytes += *bytes;
        if (!bytes) failed = bytes.error();
      });
    }
    for (std::thread& thread : threads) thread.join();
    turn.seconds = seconds_since(begin);
    if (!failed) return failed.error();
    return turn;
  }

  template <class More>
  Result<double> read_share(const ReadFrames& frames, std::size_t reader,
                            Clock::time_point begin, More& more) {
    const std::string share =
        fmt::format("{} {} {}", frames.first + reader, frames.end, readers_.size());
    double bytes = 0;
    do {
      if (interruption() != 0) return Error{EINTR, "a reader", {}};
      if (seconds_since(begin) > kPatienceSeconds) return Error{ETIMEDOUT, "a turn", {}};
      Result<std::vector<double>> answer = readers_[reader].take_turn(share);
      if (!answer) return answer.error();
      bytes += answer->at(0);
    } while (more(seconds_since(begin)));
    return bytes;
  }

  // Makes room for the next turn's, which have the same names.
  Status drop_written() const {
    Result<Client> client = Client::connect(layout_.runtime(), kPatienceMs);
    if (!client) return client.error();
    auto evicted =
        client->evict(written_dataset(), 0, ~FrameSeq{0}, kEvictNatives | kEvictAliens);
    if (!evicted) return evicted.error();
    ::sync();
    return Done{};
  }

  // Every open was answered from the cache.
  Status check_reads() {
    std::uint64_t opened = 0;
    for (WorkerProcess& reader : readers_) {
      Result<std::uint64_t> frames = reader.finish();
      if (!frames) return frames.error();
      opened += *frames;
    }
    Result<nlohmann::json> status = status_of(layout_);
    if (!status) return status.error();
    const auto hits = status->at("hits").get<std::uint64_t>();
    if (status->at("misses") == 0 && hits == opened) return Done{};
    return Error{
        EPROTO, fmt::format("{} of {} frames were read from the cache", hits, opened), {}};
  }

  const ReadersBenchOptions options_;
  const Programs programs_;
  const BenchLayout layout_;
  const std::vector<char> content_;
  std::unique_ptr<PushedNode> node_;
  std::vector<ReadFrames> frames_;
  std::vector<WorkerProcess> readers_;
  std::vector<Pair> pairs_;
  double alone_ = 0;  // bytes read in a second, without the writer, the last time
};

// From the disk: what is read is dropped from memory, for the next time.
bool read_frame(const std::string& path, std::vector<char>& buffer, std::uint64_t* bytes) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  ssize_t got;
  while ((got = read(fd.get(), buffer.data(), buffer.size())) > 0) {
    *bytes += static_cast<std::uint64_t>(got);
  }
  return got == 0 && posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0;
}

}  // namespace

Result<std::vector<ReadersFigures>> measure_readers(const ReadersBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  ReadersBench bench(options, *programs, root->path());
  if (Status ready = bench.prepare(); !ready) return ready.error();
  if (Status done = bench.run(); !done) return done.error();
  return bench.figures();
}

void print_readers_figures(const std::vector<ReadersFigures>& figures, bool as_json) {
  auto size = [](double bytes) { return format_size(static_cast<std::uint64_t>(bytes)); };
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ReadersFigures& one : figures) {
    if (as_json) {
      all.push_back({{"read_size", one.read_size},
                     {"write_size", one.write_size},
                     {"read_bytes_per_second_alone", one.alone},
                     {"read_bytes_per_second_beside", one.beside},
                     {"ratio", one.ratio},
                     {"lowest_ratio", one.lowest_ratio},
                     {"highest_ratio", one.highest_ratio},
                     {"rate", one.rate},
                     {"pushed_bytes_per_second", one.pushed_rate},
                     {"pushed_bytes", one.pushed_bytes}});
    } else {
      fmt::print(
          "read {:>9}, write {:>9} at {:>9}/s   alone {:>9}/s   beside {:>9}/s   ratio {:.3f} "
          "({:.3f} to {:.3f})\n",
          size(static_cast<double>(one.read_size)), size(static_cast<double>(one.write_size)),
          size(one.pushed_rate), size(one.alone), size(one.beside), one.ratio, one.lowest_ratio,
          one.highest_ratio);
    }
  }
  if (as_json) print_figures_json(all);
}

int readers_worker(const std::string& root) {
  const BenchLayout layout{root};
  std::vector<char> buffer(kPieceBytes);
  std::uint64_t opened = 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    FrameSeq first = 0, end = 0, step = 1;
    words >> first >> end >> step;
    std::uint64_t bytes = 0;
    for (FrameSeq seq = first; seq < end; seq += step, ++opened) {
      if (!read_frame(layout.origin(seq), buffer, &bytes)) return 1;
    }
    std::cout << nlohmann::json({static_cast<double>(bytes)}) << std::endl;
  }
  std::cout << opened << std::endl;
  return 0;
}

}  // namespace zazen
