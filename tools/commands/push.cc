// zazenctl push: copies a dataset's frames to the nodes' caches as natives, round robin.
//
// Frames that a node already holds are left alone, so an interrupted push can be repeated. The
// writer of libbodhi does the rest (bodhi/writer/writer.h), as for a simulation. It serves all
// nodes at once, with a thread and a connection for each. A node that does not answer, or is
// full, is passed over: its frames go to the next one, and it is tried again. This command
// opens each frame, with the rights of the caller and past a shim in this process. The answer
// says that the copy is durable.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "bodhi/common/units.h"
#include "bodhi/config/push_address.h"
#include "bodhi/config/template_check.h"
#include "bodhi/node/listing.h"
#include "bodhi/writer/writer.h"
#include "tools/commands/commands.h"
#include "tools/commands/push_peer.h"
#include "tools/support/interruption.h"
#include "tools/support/node.h"
#include "tools/support/origin_frame.h"
#include "tools/support/output.h"
#include "tools/support/past_the_shim.h"
#include "tools/support/progress.h"
#include "tools/support/target.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

std::string reason_of(int status) {
  std::string reason = std::strerror(status);
  if (status == EDQUOT)
    reason += ": the frames of this owner have their native_share, or the disk has a quota";
  return reason;
}

using Clock = std::chrono::steady_clock;

constexpr int kConnectTimeoutMs = 5'000;
constexpr int kLookPeriodMs = 100;
constexpr std::chrono::milliseconds kAnswerPeriod{10}, kSilence{500};
// The limit while no node answers; the writer tries four times to reach one within it.
constexpr std::chrono::milliseconds kPatience{5'000};
constexpr std::size_t kMostFailuresShown = 10;

struct Totals {
  std::uint64_t frames = 0, to_push = 0, pushed = 0, skipped = 0, failed = 0, bytes = 0;
  std::uint64_t unanswered = 0;  // after ^C
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
};

class DatasetPush {
 public:
  DatasetPush(const Node& node, const DatasetConfig& dataset, int directory_fd,
              std::vector<PushPeer>& peers, std::vector<FrameSeq> frames, Totals& totals)
      : dataset_(dataset),
        directory_fd_(directory_fd),
        frames_(std::move(frames)),
        outcomes_(std::make_shared<Outcomes>()),
        totals_(totals),
        progress_("push " + dataset.path, frames_.size()) {
    settings_.datasets = {{dataset.path, dataset.name}};
    settings_.timeout_ms = static_cast<int>(node.config.writer_timeout_ms);
    settings_.key_file = node.config.key_file;
    settings_.key_grace_ms = node.config.key_grace_ms;
    for (PushPeer& peer : peers) {
      if (!peer.takes_frames()) continue;
      settings_.peers.push_back(peer.name());
      settings_.keys = peer.keys();
      peers_.push_back(&peer);
    }
    silent_.resize(peers_.size(), false);
  }

  Status run() {
    // The outcomes are shared with a thread that hangs in an origin and may outlive this
    // object.
    Result<std::shared_ptr<Writer>> writer = Writer::start(
        settings_, [outcomes = outcomes_](const std::string&, FrameSeq seq, int status) {
          outcomes->note(seq, status);
        });
    if (!writer) return writer.error();
    for (FrameSeq seq : frames_) {
      while (!Interruption::wanted() && !(*writer)->await_room(kLookPeriodMs)) {
        if (!look(**writer)) break;
      }
      if (Interruption::wanted() || !look(**writer)) break;
      if (Status queued = (*writer)->write_file(dataset_.path, seq); !queued) {
        outcomes_->note(seq, queued.error().code);
      }
    }
    while (!Interruption::wanted() && !(*writer)->flush(kLookPeriodMs) && look(**writer)) {
    }
    look(**writer);
    if (Interruption::wanted()) await_answers(**writer);
    (*writer)->close(0);
    count(**writer);
    return Done{};
  }

 private:
  struct Outcomes {
    std::mutex mutex;
    std::set<FrameSeq> settled;
    std::vector<std::pair<FrameSeq, int>> failures;  // not reported yet

    void note(FrameSeq seq, int status) {
      std::lock_guard lock(mutex);
      settled.insert(seq);
      if (status != 0) failures.emplace_back(seq, status);
    }
  };

  // Shows the progress and nodes that became silent. False: no node takes frames, and none is
  // likely to. A node that has hung up, or is silent, may answer again; one that refused a
  // frame for want of room may take those that are under way to it.
  bool look(Writer& writer) {
    if (Clock::now() - looked_at_ < std::chrono::milliseconds(kLookPeriodMs)) return true;
    looked_at_ = Clock::now();
    bool any = false, perhaps = false, is_pushing = false;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      Writer::NodeFigures figures = *writer.node_figures(i);
      if (!figures.answers && !silent_[i]) {
        progress_.clear();
        print_warning(
            fmt::format("{}: passed over: {}", figures.peer, reason_of(figures.failure)),
            peers_.size() > 1 ? "its frames go to the other nodes" : "it is tried again");
      }
      silent_[i] = !figures.answers;
      any = any || figures.answers;
      is_pushing = is_pushing || figures.under_way > 0;
      perhaps = perhaps || is_silence({figures.failure, {}, {}});
    }
    if (any) answered_at_ = looked_at_;
    say_failures();
    Writer::Figures figures = writer.figures();
    progress_.show(figures.pushed, figures.bytes);
    return any || ((perhaps || is_pushing) && looked_at_ - answered_at_ < kPatience);
  }

  // The frames that are under way arrive all the same; the result shall count them.
  void await_answers(Writer& writer) {
    writer.stop_sending();
    const Clock::time_point begin = Clock::now(), give_up = begin + kPatience;
    for (bool has_said = false;;) {
      std::uint64_t under_way = 0;
      for (std::size_t i = 0; i < peers_.size(); ++i) {
        under_way += writer.node_figures(i)->under_way;
      }
      if (under_way == 0) return;
      if (Clock::now() - begin > kSilence && !std::exchange(has_said, true)) {
        progress_.clear();
        print_note("waiting for " + plural(under_way, "frame") +
                   " under way; another ^C ends at once");
      }
      if (Clock::now() >= give_up) {
        totals_.unanswered += under_way;
        return;
      }
      std::this_thread::sleep_for(kAnswerPeriod);
    }
  }

  void say_failures() {
    std::vector<std::pair<FrameSeq, int>> failures;
    {
      std::lock_guard lock(outcomes_->mutex);
      failures.swap(outcomes_->failures);
    }
    for (auto [seq, status] : failures) {
      // The reason may be the frame itself. Opening it again gives a better message.
      Result<OpenOriginFrame> origin =
          open_origin_frame(directory_fd_, frame_name(dataset_, seq));
      fail(seq, origin ? reason_of(status) : origin.error().context);
    }
  }

  void fail(FrameSeq seq, const std::string& reason) {
    std::string path = dataset_.path + "/" + frame_name(dataset_, seq);
    totals_.failures.push_back({{"frame", path}, {"reason", reason}});
    if (++totals_.failed > kMostFailuresShown) return;
    progress_.clear();
    print_error(path + ": " + reason);
  }

  // For a closed writer. Frames that it has not pushed remain after ^C; otherwise no node took
  // them.
  void count(Writer& writer) {
    say_failures();
    std::unique_lock lock(outcomes_->mutex);
    const std::set<FrameSeq> settled = outcomes_->settled;
    lock.unlock();
    for (FrameSeq seq : frames_) {
      if (Interruption::wanted()) break;
      if (!settled.contains(seq)) fail(seq, "no node takes it");
    }
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      Writer::NodeFigures figures = *writer.node_figures(i);
      peers_[i]->pushed += figures.pushed;
      peers_[i]->reachable = figures.answers || !is_silence({figures.failure, {}, {}});
    }
    Writer::Figures figures = writer.figures();
    totals_.pushed += figures.pushed;
    totals_.bytes += figures.bytes;
  }

  const DatasetConfig& dataset_;
  const int directory_fd_;
  const std::vector<FrameSeq> frames_;  // ascending
  std::vector<PushPeer*> peers_;        // as in settings_
  WriterSettings settings_;
  std::vector<bool> silent_;  // of peers_, at the last look
  const std::shared_ptr<Outcomes> outcomes_;
  Totals& totals_;
  Progress progress_;
  Clock::time_point looked_at_, answered_at_ = Clock::now();
};

// Opens all at once, because a silent one is slow. False if none takes frames of this dataset.
bool open_peers(std::vector<PushPeer>& peers, const DatasetConfig& dataset) {
  std::vector<std::future<Status>> answers;
  for (PushPeer& peer : peers) {
    answers.push_back(std::async(std::launch::async, [&peer, &dataset] {
      return peer.open(dataset, kConnectTimeoutMs);
    }));
  }
  bool any = false;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const PushPeer& peer = peers[i];
    Status opened = answers[i].get();
    any = any || opened.ok();
    if (opened) continue;
    int code = opened.error().code;
    if (peer.reachable && code == ENOENT) {
      print_warning(peer.name() + ": its daemon does not serve " + dataset.path,
                    "on that node: zazenctl init, then zazenctl reload");
    } else {
      constexpr std::string_view kLocal = "unix:";
      if (peer.name().starts_with(kLocal)) {
        const Silence silence = silence_of(peer.name().substr(kLocal.size()), code, "FILE");
        print_warning(std::string(kLocal) + silence.reason, silence.hint);
        continue;
      }
      const bool silent = is_silence(opened.error());
      print_warning(
          peer.name() + (silent ? std::string(": no daemon answers: ") + std::strerror(code)
                                : ": " + opened.error().message()),
          silent ? "start it with: zazenctl --config FILE start" : opened.error().hint);
    }
  }
  return any;
}

int push_dataset(const Node& node, const DatasetConfig& dataset, std::vector<PushPeer>& peers,
                 const PushOptions& options, Totals& totals) {
  Result<Listing> listing =
      list_directory(frame_directory(dataset.path, dataset.name), dataset.name);
  if (listing ? listing->frames.empty() : listing.error().code == ENOENT) {
    if (std::string mismatch = describe_mismatch(dataset); !mismatch.empty()) {
      print_error(dataset.path + ": " + mismatch, kMismatchHint);
      return kFailed;
    }
  }
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
    if (!peer.takes_frames()) continue;
    if (std::size_t stale = peer.drop_stale(dataset, directory.get(), options.dry_run)) {
      print_warning(peer.name() + ": " + plural(stale, "frame") + " changed at the origin");
    }
    todo = set_difference(todo, peer.natives());
  }
  totals.skipped += listing->frames.size() - todo.size();
  totals.to_push += todo.size();
  if (options.dry_run) return kDone;

  std::uint64_t failed_before = totals.failed;
  Status pushed =
      DatasetPush(node, dataset, directory.get(), peers, todo.frames(), totals).run();
  if (!pushed) {
    print_error(dataset.path + ": " + pushed.error().message());
    totals.failed += todo.size();
  }
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
    nlohmann::ordered_json summary{
        {"frames", totals.frames},        {"pushed", totals.pushed},
        {"skipped", totals.skipped},      {"failed", totals.failed},
        {"bytes", totals.bytes},          {"nodes", nodes},
        {"failures", totals.failures},    {"stopped", Interruption::wanted()},
        {"unanswered", totals.unanswered}};
    if (options.dry_run) summary["would_push"] = totals.to_push;
    return print_json(summary);
  }
  if (totals.failures.size() > kMostFailuresShown) {
    print_error(fmt::format("and {} more", totals.failures.size() - kMostFailuresShown));
  }
  if (options.dry_run) {
    print_line("would push {} to {}; {} already there", plural(totals.to_push, "frame"),
               plural(peers.size(), "node"), format_count(totals.skipped));
    return;
  }
  print_line("{}pushed {} ({}); {} already there, {} failed",
             Interruption::wanted() ? "stopped; " : "", plural(totals.pushed, "frame"),
             format_size(totals.bytes), format_count(totals.skipped),
             format_count(totals.failed));
  for (const PushPeer& peer : peers) {
    print_line("  {:>10}  {}{}", format_count(peer.pushed), printable(peer.name()),
               peer.reachable ? "" : "  (does not answer)");
  }
  if (totals.unanswered > 0) {
    print_line("{} of the rest were under way and may have arrived",
               format_count(totals.unanswered));
  }
  if (Interruption::wanted()) {
    print_line("the same command again goes on with the {} left",
               plural(totals.to_push - totals.pushed - totals.failed, "frame"));
  }
}

Result<std::vector<PushPeer>> peers_of(const Node& node, const PushOptions& options) {
  std::vector<std::string> names = options.peers.empty() ? node.config.peers : options.peers;
  if (names.empty()) names.push_back("unix:" + node.runtime);
  auto keys = std::make_shared<KeyRing>(node.config.key_file);
  if (Result<Credentials> read = keys->credentials(); !read) return read.error();
  std::vector<PushPeer> peers;
  for (const std::string& name : names) {
    const bool local = name.starts_with("unix:");
    if (local ? !name.starts_with("unix:/") : !parse_push_address(name)) {
      return Error{EINVAL, name + ": a node is named unix:RUNTIME or HOST:PORT",
                   "for example --to unix:" + node.runtime};
    }
    bool twice = std::any_of(peers.begin(), peers.end(),
                             [&](const PushPeer& peer) { return peer.name() == name; });
    if (!twice) peers.emplace_back(name, keys);
  }
  return peers;
}

}  // namespace

int push_command(const PushOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  std::vector<const DatasetConfig*> datasets;
  for (const std::string& directory : options.directories) {
    Result<const DatasetConfig*> dataset = resolve_dataset(node.config, directory);
    if (!dataset) return usage_error(dataset.error());
    datasets.push_back(*dataset);
  }
  Result<std::vector<PushPeer>> peers = peers_of(node, options);
  if (!peers) return usage_error(peers.error());

  Totals totals;
  int outcome = kDone;
  Interruption interruption;
  for (const DatasetConfig* dataset : datasets) {
    if (Interruption::wanted()) break;
    int result = push_dataset(node, *dataset, *peers, options, totals);
    if (result != kDone) outcome = result;
  }
  // Without frames no node was contacted.
  if (options.json || outcome == kDone || totals.frames > 0)
    print_summary(options, *peers, totals);
  Interruption::pass_on();
  return outcome;
}

}  // namespace zazen
