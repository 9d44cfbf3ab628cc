// zazenctl push: copies a dataset's frames to the nodes' caches as natives, round robin.
//
// What a node already holds is left alone, so a push that was interrupted can simply be
// repeated. Each frame is opened here, with the rights of the caller, and handed over as a
// descriptor; the answer says that the copy is durable. A node that does not answer, or is
// full, is passed over, and its frames go to the next one; a silent node is tried again
// after some seconds. The origin is read by raw system calls, so that a shim in this
// process could not send us a copy instead.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <random>

#include "bodhi/listing.h"
#include "bodhi/placement.h"
#include "bodhi/push_address.h"
#include "bodhi/units.h"
#include "tools/commands.h"
#include "tools/node.h"
#include "tools/origin_frame.h"
#include "tools/output.h"
#include "tools/past_the_shim.h"
#include "tools/progress.h"
#include "tools/push_peer.h"
#include "tools/target.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kConnectTimeoutMs = 5'000;
constexpr int kRetryTimeoutMs = 250;
constexpr std::chrono::seconds kRetryPeriod{5};
constexpr std::size_t kMostFailuresShown = 10;

struct Totals {
  std::uint64_t frames = 0, to_push = 0, pushed = 0, skipped = 0, failed = 0, bytes = 0;
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
};

class DatasetPush {
 public:
  DatasetPush(const DatasetConfig& dataset, int directory_fd, std::vector<PushPeer>& peers,
              Totals& totals)
      : dataset_(dataset),
        directory_fd_(directory_fd),
        peers_(peers),
        totals_(totals),
        placement_(peers.size(), std::random_device{}()) {
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (!peers_[i].connected()) placement_.mark_dead(i);
    }
  }

  void push(const std::vector<FrameSeq>& frames) {
    waiting_.assign(frames.begin(), frames.end());
    Progress progress("push " + dataset_.path, frames.size());
    progress_ = &progress;
    for (;;) {
      while (!waiting_.empty()) {
        FrameSeq seq = waiting_.front();
        waiting_.pop_front();
        send(seq);
      }
      auto busy = std::find_if(peers_.begin(), peers_.end(),
                               [](const PushPeer& peer) { return peer.outstanding() > 0; });
      if (busy == peers_.end()) break;
      collect(static_cast<std::size_t>(busy - peers_.begin()));
    }
  }

 private:
  void send(FrameSeq seq) {
    std::string name = frame_name(dataset_, seq);
    Result<OpenOriginFrame> origin = open_origin_frame(directory_fd_, name);
    if (!origin) return fail(seq, origin.error().context);
    OriginFrame frame{seq, origin->bytes};

    for (;;) {
      retry_silent_peers();
      std::optional<std::size_t> node = placement_.next();
      if (!node) return fail(seq, "no node takes it");
      PushPeer& peer = peers_[*node];
      if (peer.outstanding() >= PushPeer::kMostOutstanding) collect(*node);
      if (placement_.is_dead(*node)) continue;
      Status sent = peer.send(dataset_, frame, name, *origin);
      if (sent) return;
      if (!is_silence(sent.error())) return fail(seq, std::strerror(sent.error().code));
      lose(*node, sent.error());
    }
  }

  void collect(std::size_t node) {
    PushPeer& peer = peers_[node];
    Result<PushPeer::Answer> answer = peer.next_answer();
    if (!answer) return lose(node, answer.error());
    switch (answer->status) {
      case 0:
        ++peer.pushed;
        ++totals_.pushed;
        ++pushed_;
        bytes_ += answer->frame.bytes;
        totals_.bytes += answer->frame.bytes;
        progress_->show(pushed_, bytes_);
        break;
      case ENOSPC:
      case EDQUOT:
      case EROFS:
        if (!placement_.is_dead(node)) warn(node, std::strerror(answer->status));
        placement_.mark_dead(node);
        waiting_.push_back(answer->frame.seq);
        break;
      default:
        fail(answer->frame.seq, std::strerror(answer->status));
    }
  }

  void lose(std::size_t node, const Error& error) {
    warn(node, std::string("does not answer: ") + std::strerror(error.code));
    placement_.mark_dead(node);
    for (const OriginFrame& frame : peers_[node].give_up()) waiting_.push_back(frame.seq);
  }

  void retry_silent_peers() {
    Clock::time_point now = Clock::now();
    if (now - retried_at_ < kRetryPeriod) return;
    retried_at_ = now;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (!peers_[i].reachable && peers_[i].open(dataset_, kRetryTimeoutMs)) {
        placement_.mark_alive(i);
      }
    }
  }

  void warn(std::size_t node, const std::string& reason) {
    progress_->clear();
    print_warning(peers_[node].name() + ": " + reason, "its frames go to the other nodes");
  }

  void fail(FrameSeq seq, const std::string& reason) {
    std::string path = dataset_.path + "/" + frame_name(dataset_, seq);
    totals_.failures.push_back({{"frame", path}, {"reason", reason}});
    if (++totals_.failed > kMostFailuresShown) return;
    progress_->clear();
    print_error(path + ": " + reason);
  }

  const DatasetConfig& dataset_;
  int directory_fd_;
  std::vector<PushPeer>& peers_;
  Totals& totals_;
  Placement placement_;
  std::deque<FrameSeq> waiting_;
  Progress* progress_ = nullptr;
  std::uint64_t pushed_ = 0, bytes_ = 0;
  Clock::time_point retried_at_ = Clock::now();
};

// False if no node can take frames of this dataset.
bool open_peers(std::vector<PushPeer>& peers, const DatasetConfig& dataset) {
  bool any = false;
  for (PushPeer& peer : peers) {
    Status opened = peer.open(dataset, kConnectTimeoutMs);
    any = any || opened.ok();
    if (opened) continue;
    int code = opened.error().code;
    if (peer.reachable && code == ENOENT) {
      print_warning(peer.name() + ": its daemon does not serve " + dataset.path,
                    "add the dataset to its configuration and restart it");
    } else {
      const bool silent = is_silence(opened.error()) || peer.name().starts_with("unix:");
      print_warning(
          peer.name() + (silent ? std::string(": no daemon answers: ") + std::strerror(code)
                                : ": " + opened.error().message()),
          silent ? "start it with: zazend --config FILE --daemonize" : opened.error().hint);
    }
  }
  return any;
}

int push_dataset(const DatasetConfig& dataset, std::vector<PushPeer>& peers,
                 const PushOptions& options, Totals& totals) {
  Result<Listing> listing =
      list_directory(frame_directory(dataset.path, dataset.name), dataset.name);
  UniqueFd directory(static_cast<int>(past_the_shim(SYS_openat, AT_FDCWD, dataset.path.c_str(),
                                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!listing || !directory.valid()) {
    print_error(dataset.path + ": " + std::strerror(listing ? errno : listing.error().code));
    return kFailed;
  }
  FrameSet todo(listing->frames);
  totals.frames += todo.size();
  if (todo.empty()) {
    print_warning(dataset.path + ": no frames there", "its frames are named " + dataset.frames);
  }
  if (!open_peers(peers, dataset)) {
    print_error(dataset.path + ": no node takes its frames");
    totals.failed += todo.size();
    bool silent = std::none_of(peers.begin(), peers.end(),
                               [](const PushPeer& peer) { return peer.reachable; });
    return silent ? kNoDaemon : kFailed;
  }
  for (PushPeer& peer : peers) {
    if (!peer.connected()) continue;
    if (std::size_t stale = peer.drop_stale(dataset, directory.get(), options.dry_run)) {
      print_warning(peer.name() + ": " + plural(stale, "frame") + " changed at the origin");
    }
    todo = set_difference(todo, peer.natives());
  }
  totals.skipped += listing->frames.size() - todo.size();
  totals.to_push += todo.size();
  if (options.dry_run) return kDone;

  std::uint64_t failed_before = totals.failed;
  DatasetPush(dataset, directory.get(), peers, totals).push(todo.frames());
  return totals.failed == failed_before ? kDone : kFailed;
}

void print_summary(const PushOptions& options, const std::vector<PushPeer>& peers,
                   const Totals& totals) {
  if (options.json) {
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
    for (const PushPeer& peer : peers) {
      nodes.push_back(
          {{"peer", peer.name()}, {"pushed", peer.pushed}, {"reachable", peer.reachable}});
    }
    nlohmann::ordered_json summary{{"frames", totals.frames},    {"pushed", totals.pushed},
                                   {"skipped", totals.skipped},  {"failed", totals.failed},
                                   {"bytes", totals.bytes},      {"nodes", nodes},
                                   {"failures", totals.failures}};
    if (options.dry_run) summary["would_push"] = totals.to_push;
    return print_json(summary);
  }
  if (totals.failures.size() > kMostFailuresShown) {
    print_error(fmt::format("and {} more", totals.failures.size() - kMostFailuresShown));
  }
  if (options.dry_run) {
    fmt::print("would push {} to {}; {} already there\n", plural(totals.to_push, "frame"),
               plural(peers.size(), "node"), format_count(totals.skipped));
    return;
  }
  fmt::print("pushed {} ({}); {} already there, {} failed\n", plural(totals.pushed, "frame"),
             format_size(totals.bytes), format_count(totals.skipped),
             format_count(totals.failed));
  for (const PushPeer& peer : peers) {
    fmt::print("  {:>10}  {}{}\n", format_count(peer.pushed), printable(peer.name()),
               peer.reachable ? "" : "  (does not answer)");
  }
}

Result<std::vector<PushPeer>> peers_of(const Node& node, const PushOptions& options) {
  std::vector<std::string> names = options.peers.empty() ? node.config.peers : options.peers;
  if (names.empty()) names.push_back("unix:" + node.runtime);
  Result<Credentials> credentials = load_credentials(node.config.key_file);
  if (!credentials) return credentials.error();
  std::vector<PushPeer> peers;
  for (const std::string& name : names) {
    const bool local = name.starts_with("unix:");
    if (local ? !name.starts_with("unix:/") : !parse_push_address(name)) {
      return Error{EINVAL, name + ": a node is named unix:RUNTIME or HOST:PORT",
                   "for example --to unix:" + node.runtime};
    }
    bool twice = std::any_of(peers.begin(), peers.end(),
                             [&](const PushPeer& peer) { return peer.name() == name; });
    if (!twice) peers.emplace_back(name, *credentials);
  }
  return peers;
}

}  // namespace

int push_command(const PushOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  std::vector<const DatasetConfig*> datasets;
  for (const std::string& directory : options.directories) {
    Result<const DatasetConfig*> dataset = resolve_dataset(node.config, directory);
    if (!dataset) {
      print_error(dataset.error().context, dataset.error().hint);
      return kUsage;
    }
    datasets.push_back(*dataset);
  }
  Result<std::vector<PushPeer>> peers = peers_of(node, options);
  if (!peers) {
    print_error(peers.error().context, peers.error().hint);
    return kUsage;
  }

  Totals totals;
  int outcome = kDone;
  for (const DatasetConfig* dataset : datasets) {
    int result = push_dataset(*dataset, *peers, options, totals);
    if (result != kDone) outcome = result;
  }
  print_summary(options, *peers, totals);
  return outcome;
}

}  // namespace zazen
