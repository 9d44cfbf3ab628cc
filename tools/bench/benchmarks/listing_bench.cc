// `zazen-bench listing`: a rank's listing of a large directory through the shim, against the
// plain listing of the same directory on the local disk.
#include "tools/bench/benchmarks/benchmarks.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "bodhi/common/unique_fd.h"
#include "bodhi/node/listing.h"
#include "coord/job/view_writer.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/stopwatch.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

struct ListingOptions {
  std::uint64_t frames = 1'000'000;
  int rounds = 5;
};

void make_frames(const std::string& directory, std::uint64_t frames) {
  if (mkdir(directory.c_str(), 0755) != 0) throw last_error(directory);
  UniqueFd at(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::uint64_t i = 0; i < frames; ++i) {
    std::string name = "f" + std::to_string(i);
    UniqueFd file(
        openat(at.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file.valid()) throw last_error(directory + "/" + name);
    if (interruption() != 0) throw Error{EINTR, directory, {}};
  }
}

// The view that a single rank would get.
std::string make_view(const std::string& root, const std::string& directory) {
  ViewDatasetContent dataset;
  dataset.path = directory;
  dataset.frames = kFrameTemplate;
  FrameName name;
  const char* why = "";
  FrameName::parse(kFrameTemplate, sizeof kFrameTemplate - 1, &name, &why);
  Listing listing = take(list_directory(directory, name));
  struct stat st;
  if (stat(directory.c_str(), &st) != 0) throw last_error(directory);
  dataset.frame_directory_ino = st.st_ino;
  dataset.domain = FrameSet(listing.frames).runs();
  dataset.domain_count = listing.frames.size();
  dataset.names = listing.others;
  dataset.own_count = listing.frames.size();
  dataset.own = [&](ViewFrames& out) {
    for (std::size_t i = 0; i < listing.frames.size(); ++i)
      out.add({listing.frames[i], listing.inodes[i]});
  };
  ViewContent content;
  content.nodes = 1;
  content.datasets.push_back(std::move(dataset));
  std::string view = take(make_view_directory({root}));
  take(write_view(view, content));
  return view;
}

double seconds_of_listing(WorkerProcess& worker) {
  std::vector<double> samples = take(worker.take_turn("list"));
  return samples.front();
}

// The view is one of all frames: the most that a rank can be shown.
Figures measure(const BenchPlace& place, const ListingOptions& options) {
  std::string directory = place.root + "/sim1";
  make_frames(directory, options.frames);
  std::string view = make_view(place.root, directory);

  std::vector<std::string> plain_variables = plain_environment();
  std::vector<std::string> shim_variables = plain_variables;
  shim_variables.push_back("LD_PRELOAD=" + place.programs.shim);
  shim_variables.push_back("ZAZEN_VIEW=" + view);
  std::vector<std::string> command{place.programs.self, "listing-worker", directory};
  WorkerProcess plain = take(WorkerProcess::start(command, plain_variables));
  WorkerProcess shim = take(WorkerProcess::start(command, shim_variables));

  std::vector<double> plain_seconds, shim_seconds;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms the caches
    double by_plain = seconds_of_listing(plain);
    double by_shim = seconds_of_listing(shim);
    if (round < 0) continue;
    plain_seconds.push_back(by_plain);
    shim_seconds.push_back(by_shim);
  }
  for (WorkerProcess* worker : {&plain, &shim}) {
    std::uint64_t listed = take(worker->finish());
    if (listed != options.frames + 2) {
      throw Error{EPROTO, fmt::format("a listing had {} entries", listed), {}};
    }
  }
  return Figures{{"frames", options.frames},
                 {"plain_seconds", median(plain_seconds)},
                 {"shim_seconds", median(shim_seconds)},
                 {"ratio", median(ratios(shim_seconds, plain_seconds))},
                 {"rounds", options.rounds}};
}

// A process of its own. For each line on stdin it lists the directory by readdir and answers
// with the seconds. At the end it prints how many entries the last listing had. Its exit
// status.
int listing_worker(const std::string& directory) {
  std::uint64_t entries = 0;
  for (std::string line; std::getline(std::cin, line);) {
    Clock::time_point begin = Clock::now();
    entries = 0;
    DIR* stream = opendir(directory.c_str());
    if (stream == nullptr) return 1;
    while (readdir(stream) != nullptr) ++entries;
    closedir(stream);
    std::cout << nlohmann::json({seconds_since(begin)}) << std::endl;
  }
  std::cout << entries << std::endl;
  return 0;
}

}  // namespace

void add_listing_bench(CommandLine& line) {
  static ListingOptions options;
  line.benchmark("listing", "Compare a rank's listing of a large directory with the plain one.",
                 "\nExample:\n  zazen-bench listing --frames 1e5\n",
                 [](const BenchPlace& place) { return measure(place, options); })
      .frames(&options.frames, 1, 1e8, "How many frames (default: 1e6)")
      .number("--rounds", &options.rounds, 1, 1000, "How often (default: 5)");
  line.worker("listing-worker", 1, [](const auto& words) { return listing_worker(words[0]); });
}

}  // namespace zazen
