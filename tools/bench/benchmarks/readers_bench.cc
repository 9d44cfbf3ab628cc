// `zazen-bench readers`: how much pushes slow those who read cached frames (section 5.2.3 of
// the paper, figure 8). Processes with the shim read copies from the disk, while a writer
// pushes frames to the same daemon at a fixed rate. A ratio is that of two neighbouring turns,
// with the writer and without it.
#include "tools/bench/benchmarks/benchmarks.h"

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

#include "bodhi/node/client.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/paced_writer.h"
#include "tools/bench/support/pushed_node.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct ReadersOptions {
  // Of frames.
  std::vector<std::uint64_t> read_sizes{2'000'000, 64'000'000, 256'000'000};
  std::vector<std::uint64_t> write_sizes{2'000'000, 64'000'000, 256'000'000};
  std::uint64_t read_bytes = 1'000'000'000;  // of frames of each size
  std::uint64_t rate = 0;  // bytes pushed in a second; 0: in the paper's proportion
  int readers = 2;
  int rounds = 5;
  double turn_seconds = 3;  // at least
};

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
  std::vector<double> alone, beside, rates;
  double pushed_bytes = 0, pushed_seconds = 0;
};

class ReadersBench {
 public:
  ReadersBench(const ReadersOptions& options, Programs programs, std::string root)
      : options_(options),
        programs_(std::move(programs)),
        layout_{std::move(root)},
        content_(random_content(std::max(std::ranges::max(options.read_sizes),
                                         std::ranges::max(options.write_sizes)))) {}

  void prepare() {
    for (const std::string& directory : {layout_.dataset(), written_dataset()}) {
      if (mkdir(directory.c_str(), 0755) != 0) throw last_error(directory);
    }
    const std::string more = fmt::format("\n[[dataset]]\npath = \"{}\"\nframes = \"{}\"\n",
                                         written_dataset(), kFrameTemplate);
    PushedNode node = PushedNode::start(programs_.zazend, layout_, true,
                                        bench_configuration(layout_, kFrameTemplate, more));
    node_ = std::make_unique<PushedNode>(std::move(node));
    make_frames();
    push_frames();
    start_readers();
  }

  void run() {
    for (const ReadFrames& frames : frames_) {
      const std::size_t first = pairs_.size();
      for (std::uint64_t size : options_.write_sizes) {
        pairs_.push_back({frames, std::span(content_).first(size), {}, {}, {}});
      }
      // Frames that have just been written may still be in memory.
      for (int i = 0; i < 2; ++i) {
        read_alone(frames, 0);
      }
      for (int round = 0; round < options_.rounds; ++round) {
        for (std::size_t i = first; i < pairs_.size(); ++i) run_pair(pairs_[i], round % 2 == 1);
      }
    }
    check_reads();
  }

  Figures figures() const {
    Figures all = Figures::array();
    for (const Pair& pair : pairs_) {
      Figures row = {{"read_size", pair.read.size},
                     {"write_size", pair.written.size()},
                     {"read_bytes_per_second_alone", median(pair.alone)},
                     {"read_bytes_per_second_beside", median(pair.beside)}};
      row.update(spread_of(ratios(pair.beside, pair.alone)));
      row["rate"] = median(pair.rates);  // to be pushed
      row["pushed_bytes_per_second"] = pair.pushed_bytes / pair.pushed_seconds;
      row["pushed_bytes"] = static_cast<std::uint64_t>(pair.pushed_bytes);
      all.push_back(std::move(row));
    }
    return all;
  }

 private:
  // Its frames have no origin.
  std::string written_dataset() const { return layout_.root + "/sim2"; }

  // All frames of a size are names of one origin file; each copy is a file of its own.
  void make_frames() {
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
        if (link(file.c_str(), name.c_str()) != 0) throw last_error(name);
      }
    }
    ::sync();
  }

  void push_frames() {
    WriterSettings settings = node_->writer_settings(layout_.dataset());
    std::shared_ptr<Writer> writer = take(Writer::start(std::move(settings)));
    Status done = Done{};
    const FrameSeq end = frames_.back().end;
    for (FrameSeq seq = 0; done && seq < end; ++seq) {
      done = writer->write_file(layout_.dataset(), seq);
    }
    while (done && interruption() == 0 && writer->figures().waiting > 0) {
      std::this_thread::sleep_for(kPause);
    }
    const std::uint64_t pushed = writer->figures().pushed;
    writer->close(0);
    take(done);
    if (interruption() != 0) throw Error{EINTR, "pushes", {}};
    if (pushed == end) return;
    throw Error{EPROTO, fmt::format("{} of {} frames were pushed", pushed, end),
                "--dir names a directory with more room"};
  }

  void start_readers() {
    for (int i = 0; i < options_.readers; ++i) {
      readers_.push_back(
          take(WorkerProcess::start({programs_.self, "readers-worker", layout_.root},
                                    shim_environment(programs_, layout_))));
    }
  }

  void run_pair(Pair& pair, bool writer_first) {
    const double rate =
        options_.rate > 0 ? static_cast<double>(options_.rate) : kShareOfPaper * alone_;
    // So long that whole frames come at this rate.
    const double period = static_cast<double>(pair.written.size()) / rate;
    const double seconds = std::ceil(options_.turn_seconds / period) * period;
    Turn alone, beside;
    for (bool with_writer : {writer_first, !writer_first}) {
      Turn turn = with_writer ? read_beside_writer(pair.read, seconds, pair.written, rate)
                              : read_alone(pair.read, seconds);
      (with_writer ? beside : alone) = turn;
    }
    pair.alone.push_back(alone.read_rate());
    pair.beside.push_back(beside.read_rate());
    pair.rates.push_back(rate);
    pair.pushed_bytes += beside.pushed_bytes;
    pair.pushed_seconds += beside.seconds;
  }

  Turn read_alone(const ReadFrames& frames, double seconds) {
    const Turn turn =
        read_all(frames, [&](double passed_seconds) { return passed_seconds < seconds; });
    alone_ = turn.read_rate();
    return turn;
  }

  Turn read_beside_writer(const ReadFrames& frames, double seconds,
                          std::span<const char> content, double rate) {
    std::unique_ptr<PacedWriter> writer =
        take(PacedWriter::start(*node_, written_dataset(), content, rate));
    Turn turn = read_all(frames, [&](double passed_seconds) {
      return passed_seconds < seconds || writer->pushed_bytes() == 0;
    });
    turn.pushed_bytes = static_cast<double>(writer->pushed_bytes());
    take(writer->finish());
    drop_written();
    return turn;
  }

  // Each reader has its share of the frames, and goes through it until it has done enough.
  template <class More>
  Turn read_all(const ReadFrames& frames, More more) {
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
    take(failed);
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
  void drop_written() const {
    Client client = take(Client::connect(layout_.runtime(), kPatienceMs));
    take(client.evict(written_dataset(), 0, ~FrameSeq{0}, kEvictNatives | kEvictAliens));
    ::sync();
  }

  // Every open was answered from the cache.
  void check_reads() {
    std::uint64_t opened = 0;
    for (WorkerProcess& reader : readers_) {
      std::uint64_t frames = take(reader.finish());
      opened += frames;
    }
    nlohmann::json status = status_of(layout_);
    const auto hits = status.at("hits").get<std::uint64_t>();
    if (status.at("misses") == 0 && hits == opened) return;
    throw Error{
        EPROTO, fmt::format("{} of {} frames were read from the cache", hits, opened), {}};
  }

  const ReadersOptions options_;
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

Figures measure(const BenchPlace& place, const ReadersOptions& options) {
  ReadersBench bench(options, place.programs, place.root);
  bench.prepare();
  bench.run();
  return bench.figures();
}

// A process of its own. For each line, "FIRST END STEP", it reads these frames from the disk
// and answers with the number of bytes. At the end it prints how many frames it opened. Its
// exit status.
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

}  // namespace

void add_readers_bench(CommandLine& line) {
  static ReadersOptions options;
  line.benchmark(
          "readers", "Compare reads of cached frames with and without pushes to the same node.",
          "\nA turn is so long that whole frames are pushed in it: 20 times as much is read. "
          "Frames of\n1 GB take long, and 3 GB of memory.\n\nExample:\n"
          "  zazen-bench readers --read-size 64MB --write-size 1GB --rounds 3\n",
          [](const BenchPlace& place) { return measure(place, options); })
      .sizes("--read-size", &options.read_sizes,
             "Of a frame that is read; may be repeated (default: 2MB, 64MB, 256MB)")
      .sizes("--write-size", &options.write_sizes,
             "Of a frame that is pushed; may be repeated (default: 2MB, 64MB, 256MB)")
      .size("--read-bytes", &options.read_bytes,
            "Of all frames of one size that are read (default: 1GB)")
      .size("--rate", &options.rate,
            "Pushed in a second (default: 5% of what is read without pushes)")
      .number("--readers", &options.readers, 1, 256, "How many processes (default: 2)")
      .number("--rounds", &options.rounds, 1, 1000, "Pairs of turns (default: 5)")
      .seconds("--turn", &options.turn_seconds, "How long a turn is, at least (default: 3)");
  line.worker("readers-worker", 1, [](const auto& words) { return readers_worker(words[0]); });
}

}  // namespace zazen
