// BenchNode: one real node for a benchmark: a temporary directory with an origin, a cache, a
// configuration and a running zazend, all frames pushed. All of it goes with the object.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bodhi/common/result.h"
#include "tools/bench/support/cases.h"
#include "tools/bench/support/child_process.h"
#include "tools/bench/support/programs.h"

namespace zazen {

class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make(const std::string& parent);
  TemporaryDirectory(TemporaryDirectory&& other) noexcept
      : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// One dataset, with this template and further keys.
std::string bench_configuration(const BenchLayout& layout, const std::string& frames,
                                const std::string& dataset_keys);

// A zazend with this layout's configuration, as soon as it serves.
Result<ChildProcess> start_daemon(const std::string& zazend, const BenchLayout& layout);

// Pushes frames of the origin's dataset to the node with this runtime directory.
Status push_frames(const std::string& runtime, const BenchLayout& origin,
                   std::span<const FrameSeq> frames);

// For a program that runs with the shim and this layout's configuration.
std::vector<std::string> shim_environment(const Programs& programs, const BenchLayout& layout);

// What `zazenctl status --json` prints.
Result<nlohmann::json> status_of(const BenchLayout& layout);

class BenchNode {
 public:
  // `all_users`: for root; every user reaches it.
  static Result<BenchNode> start(const std::string& zazend, const std::string& parent,
                                 bool all_users = false);

  const BenchLayout& layout() const { return layout_; }
  pid_t daemon() const { return daemon_.pid(); }
  // Ends the daemon; an error if it was gone already or did not stop cleanly.
  Status stop();

 private:
  BenchNode(TemporaryDirectory directory, BenchLayout layout, ChildProcess daemon)
      : directory_(std::move(directory)),
        layout_(std::move(layout)),
        daemon_(std::move(daemon)) {}

  TemporaryDirectory directory_;  // goes last
  BenchLayout layout_;
  ChildProcess daemon_;
};

}  // namespace zazen
