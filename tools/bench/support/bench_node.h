// BenchNode: one real node for a benchmark, in its place: an origin, a cache, a configuration
// and a running zazend, all frames pushed. The daemon ends with the object.
#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "bodhi/common/result.h"
#include "tools/bench/support/bench_place.h"
#include "tools/bench/support/cases.h"
#include "tools/bench/support/child_process.h"

namespace zazen {

// One dataset, with this template and further keys.
std::string bench_configuration(const BenchLayout& layout, const std::string& frames,
                                const std::string& dataset_keys);

// A zazend with this layout's configuration, as soon as it serves.
ChildProcess start_daemon(const std::string& zazend, const BenchLayout& layout);

// Pushes frames of the origin's dataset to the node with this runtime directory.
void push_frames(const std::string& runtime, const BenchLayout& origin,
                 std::span<const FrameSeq> frames);

// For a program that runs with the shim and this layout's configuration.
std::vector<std::string> shim_environment(const Programs& programs, const BenchLayout& layout);

// The same JSON as `zazenctl status --json`.
nlohmann::json status_of(const BenchLayout& layout);

// The daemon knows which copies it has. look() is called each time when it does not yet.
void wait_until_reconciled(const BenchLayout& layout, const std::function<void()>& look = {});

class BenchNode {
 public:
  // `all_users`: for root; every user reaches it.
  static BenchNode start(const BenchPlace& place, bool all_users = false);

  const BenchLayout& layout() const { return layout_; }
  pid_t daemon() const { return daemon_.pid(); }
  // Ends the daemon; an error if it was gone already or did not stop cleanly.
  void stop();

 private:
  BenchNode(BenchLayout layout, ChildProcess daemon)
      : layout_(std::move(layout)), daemon_(std::move(daemon)) {}

  BenchLayout layout_;
  ChildProcess daemon_;
};

}  // namespace zazen
