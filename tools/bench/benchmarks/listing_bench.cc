#include "tools/bench/benchmarks/listing_bench.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bodhi/common/unique_fd.h"
#include "bodhi/common/units.h"
#include "bodhi/node/listing.h"
#include "coord/job/view_writer.h"
#include "tools/bench/support/bench_node.h"
#include "tools/bench/support/figures_json.h"
#include "tools/bench/support/interruption.h"
#include "tools/bench/support/programs.h"
#include "tools/bench/support/samples.h"
#include "tools/bench/support/worker_process.h"

namespace zazen {
namespace {

Status make_frames(const std::string& directory, std::uint64_t frames) {
  if (mkdir(directory.c_str(), 0755) != 0) return last_error(directory);
  UniqueFd at(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::uint64_t i = 0; i < frames; ++i) {
    std::string name = "f" + std::to_string(i);
    UniqueFd file(
        openat(at.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file.valid()) return last_error(directory + "/" + name);
    if (interruption() != 0) return Error{EINTR, directory, {}};
  }
  return Done{};
}

// What a rank that is alone would have agreed on with itself.
Result<std::string> make_view(const std::string& root, const std::string& directory) {
  ViewDatasetContent dataset;
  dataset.path = directory;
  dataset.frames = kFrameTemplate;
  FrameName name;
  const char* why = "";
  FrameName::parse(kFrameTemplate, sizeof kFrameTemplate - 1, &name, &why);
  Result<Listing> listing = list_directory(directory, name);
  if (!listing) return listing.error();
  struct stat st;
  if (stat(directory.c_str(), &st) != 0) return last_error(directory);
  dataset.frame_directory_ino = st.st_ino;
  dataset.domain = FrameSet(listing->frames).runs();
  dataset.domain_count = listing->frames.size();
  dataset.names = listing->others;
  dataset.own_count = listing->frames.size();
  dataset.own = [&](ViewFrames& out) {
    for (std::size_t i = 0; i < listing->frames.size(); ++i)
      out.add({listing->frames[i], listing->inodes[i]});
  };
  ViewContent content;
  content.nodes = 1;
  content.datasets.push_back(std::move(dataset));
  Result<std::string> view = make_view_directory({root});
  if (!view) return view.error();
  if (Status written = write_view(*view, content); !written) return written.error();
  return view;
}

Result<double> seconds_of_listing(WorkerProcess& worker) {
  Result<std::vector<double>> samples = worker.take_turn("list");
  if (!samples) return samples.error();
  return samples->front() / 1e9;
}

}  // namespace

Result<ListingFigures> measure_listing(const ListingBenchOptions& options) {
  Result<Programs> programs = find_programs();
  if (!programs) return programs.error();
  Result<TemporaryDirectory> root = TemporaryDirectory::make(options.directory);
  if (!root) return root.error();
  std::string directory = root->path() + "/sim1";
  if (Status made = make_frames(directory, options.frames); !made) return made.error();
  Result<std::string> view = make_view(root->path(), directory);
  if (!view) return view.error();

  std::vector<std::string> plain_variables = plain_environment();
  std::vector<std::string> shim_variables = plain_variables;
  shim_variables.push_back("LD_PRELOAD=" + programs->shim);
  shim_variables.push_back("ZAZEN_VIEW=" + *view);
  std::vector<std::string> command{programs->self, "listing-worker", directory};
  Result<WorkerProcess> plain = WorkerProcess::start(command, plain_variables);
  if (!plain) return plain.error();
  Result<WorkerProcess> shim = WorkerProcess::start(command, shim_variables);
  if (!shim) return shim.error();

  std::vector<double> plain_seconds, shim_seconds, ratios;
  for (int round = -1; round < options.rounds; ++round) {  // the first one warms the caches
    Result<double> by_plain = seconds_of_listing(*plain);
    if (!by_plain) return by_plain.error();
    Result<double> by_shim = seconds_of_listing(*shim);
    if (!by_shim) return by_shim.error();
    if (round < 0) continue;
    plain_seconds.push_back(*by_plain);
    shim_seconds.push_back(*by_shim);
    ratios.push_back(*by_shim / *by_plain);
  }
  for (WorkerProcess* worker : {&*plain, &*shim}) {
    Result<std::uint64_t> listed = worker->finish();
    if (!listed) return listed.error();
    if (*listed != options.frames + 2) {
      return Error{EPROTO, fmt::format("a listing had {} entries", *listed), {}};
    }
  }
  return ListingFigures{options.frames, options.rounds, median(plain_seconds),
                        median(shim_seconds), median(ratios)};
}

void print_listing_figures(const ListingFigures& figures, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json all = {{"frames", figures.frames},
                                  {"plain_seconds", figures.plain_seconds},
                                  {"shim_seconds", figures.shim_seconds},
                                  {"ratio", figures.ratio},
                                  {"rounds", figures.rounds}};
    print_figures_json(all);
    return;
  }
  fmt::print(
      "{} frames listed by readdir: plain {:.3f} s, through the shim {:.3f} s, ratio {:.2f}\n",
      format_count(figures.frames), figures.plain_seconds, figures.shim_seconds, figures.ratio);
}

int listing_worker(const std::string& directory) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t entries = 0;
  for (std::string line; std::getline(std::cin, line);) {
    Clock::time_point begin = Clock::now();
    entries = 0;
    DIR* stream = opendir(directory.c_str());
    if (stream == nullptr) return 1;
    while (readdir(stream) != nullptr) ++entries;
    closedir(stream);
    double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    std::cout << nlohmann::json(std::vector<double>{ns}) << std::endl;
  }
  std::cout << entries << std::endl;
  return 0;
}

}  // namespace zazen
