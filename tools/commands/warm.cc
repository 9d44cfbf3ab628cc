// zazenctl warm: brings frames into this node's cache before a program opens them.
//
// As the shim does on a miss, this command opens each frame with the rights of the caller and
// passes it to the daemon. The daemon copies it once, however many ask. A few frames are under
// way at a time, in the order of their numbers, and the command waits for each. Only copies of
// idle datasets are evicted for them. When there is no room left, the rest is left out, and the
// frames that were brought stay. The first ^C waits for the frames that are under way.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "bodhi/common/directory_entries.h"
#include "bodhi/common/units.h"
#include "bodhi/config/template_check.h"
#include "bodhi/node/frame_set.h"
#include "bodhi/node/listing.h"
#include "tools/cluster/every_node.h"
#include "tools/commands/commands.h"
#include "tools/support/frame_range.h"
#include "tools/support/interruption.h"
#include "tools/support/node.h"
#include "tools/support/origin_frame.h"
#include "tools/support/output.h"
#include "tools/support/past_the_shim.h"
#include "tools/support/progress.h"
#include "tools/support/table_state.h"
#include "tools/support/target.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr std::size_t kMostFailuresShown = 10;
constexpr std::size_t kSizesLookedAt = 64;
constexpr std::chrono::milliseconds kPause(100);  // the daemon's queue is full

struct Totals {
  std::uint64_t frames = 0, there = 0, brought = 0, bytes = 0, no_room = 0, failed = 0;
  std::uint64_t to_bring = 0, expected_bytes = 0;
  nlohmann::ordered_json failures = nlohmann::ordered_json::array();
};

// The part of the command line that is about one dataset.
struct Wanted {
  const DatasetConfig* dataset;
  std::optional<FrameRange> listed;  // all that it lists in this range
  std::vector<FrameSeq> named;       // one by one
};

struct Work {
  const DatasetConfig* dataset;
  UniqueFd directory;
  std::vector<FrameSeq> frames;  // ascending; those that are not there yet
};

class DatasetWarming {
 public:
  DatasetWarming(const Node& node, Client& client, const Work& work, std::size_t jobs,
                 Totals& totals)
      : node_(node),
        client_(client),
        work_(work),
        jobs_(jobs),
        totals_(totals),
        waiting_(work.frames.begin(), work.frames.end()),
        progress_("warm " + work.dataset->path, work.frames.size()) {}

  // An error means that the daemon does not answer.
  Status run() {
    while (!under_way_.empty() || (!waiting_.empty() && !is_over())) {
      bool more = !waiting_.empty() && !is_over() && under_way_.size() < jobs_;
      if (Status done = more ? send() : collect(); !done) return done;
    }
    if (full_) {
      totals_.no_room += waiting_.size();
      progress_.clear();
      print_error(
          work_.dataset->path + ": the cache is full: " + plural(waiting_.size(), "frame") +
              " found no room",
          "zazenctl evict PATH makes room; frames that are pinned, pushed or of datasets "
          "in use are not evicted by themselves");
    }
    return Done{};
  }

 private:
  struct UnderWay {
    FrameSeq seq;
    std::uint64_t bytes;
  };

  bool is_over() const { return full_ || Interruption::wanted(); }

  Status send() {
    FrameSeq seq = waiting_.front();
    waiting_.pop_front();
    std::string name = frame_name(*work_.dataset, seq);
    Result<OpenOriginFrame> origin = open_origin_frame(work_.directory.get(), name);
    if (!origin) {
      fail(seq, origin.error().context);
      return Done{};
    }
    for (;;) {
      Result<std::uint64_t> request =
          client_.start_fill(work_.dataset->path, name, origin->fd.get());
      if (request) {
        under_way_[*request] = {seq, origin->bytes};
        return Done{};
      }
      if (!is_merely_slow(request.error())) return request.error();
    }
  }

  Status collect() {
    Result<Client::PushAnswer> answer = client_.next_push_answer();
    if (!answer) {
      if (is_merely_slow(answer.error())) return Done{};
      return answer.error();
    }
    auto found = under_way_.find(answer->request);
    if (found == under_way_.end()) return Done{};
    UnderWay frame = found->second;
    under_way_.erase(found);
    switch (answer->status) {
      case 0:
        ++totals_.brought;
        totals_.bytes += frame.bytes;
        progress_.show(++brought_, bytes_ += frame.bytes);
        break;
      case EAGAIN:
        waiting_.push_front(frame.seq);
        say_what_it_waits_for();
        std::this_thread::sleep_for(kPause);
        break;
      case ENOSPC:
      case EDQUOT:
        full_ = true;
        waiting_.push_front(frame.seq);
        break;
      case EBUSY:
        fail(frame.seq, "somebody is writing it");
        break;
      case ESTALE:
        fail(frame.seq, "it changed while it was copied");
        break;
      default:
        fail(frame.seq, std::strerror(answer->status));
    }
    return Done{};
  }

  // After an unclean stop the daemon gives no room until it knows which copies it holds.
  void say_what_it_waits_for() {
    if (std::exchange(has_asked_why_, true)) return;
    Result<Client> other = Client::connect(node_.runtime);
    Result<std::string> status = other ? other->status() : Result<std::string>(other.error());
    if (!status) return;
    auto parsed = nlohmann::ordered_json::parse(*status, nullptr, false);
    if (!parsed.is_object() || parsed.value("reconciled", true)) return;
    progress_.clear();
    print_warning("the node is still going through its copies: waiting",
                  "zazenctl status shows when it is done; ^C stops here");
  }

  // A large frame of a slow origin takes longer than any time limit; the heartbeat shows a live
  // daemon.
  bool is_merely_slow(const Error& error) const {
    return error.code == ETIMEDOUT && TableState(node_.runtime).serves();
  }

  void fail(FrameSeq seq, const std::string& reason) {
    std::string path = work_.dataset->path + "/" + frame_name(*work_.dataset, seq);
    totals_.failures.push_back({{"frame", path}, {"reason", reason}});
    if (++totals_.failed > kMostFailuresShown) return;
    progress_.clear();
    print_error(path + ": " + reason);
  }

  const Node& node_;
  Client& client_;
  const Work& work_;
  const std::size_t jobs_;
  Totals& totals_;
  std::deque<FrameSeq> waiting_;
  std::map<std::uint64_t, UnderWay> under_way_;  // by request
  Progress progress_;
  std::uint64_t brought_ = 0, bytes_ = 0;
  bool full_ = false, has_asked_why_ = false;
};

std::vector<Wanted> all_wanted(const std::vector<Order>& orders) {
  std::vector<Wanted> all;
  for (const Order& order : orders) {
    auto part = std::ranges::find(all, order.dataset, &Wanted::dataset);
    if (part == all.end()) part = all.insert(part, {order.dataset, {}, {}});
    if (order.is_frame) {
      part->named.push_back(order.range.first);
    } else {
      part->listed = order.range;
    }
  }
  return all;
}

void add_companions(const DatasetConfig& dataset, std::vector<FrameSeq>* frames) {
  if (dataset.also.empty()) return;
  RawFd fd(
      raw_open(frame_directory(dataset.path, dataset.name).c_str(), O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return;
  visit_entries(
      fd.get(), 64 * 1024, [&](std::string_view name, std::uint64_t, std::uint8_t type) {
        FrameSeq seq;
        const bool is_file = type == DT_REG || type == DT_UNKNOWN;
        if (is_file && dataset.name.match_held_entry(name.data(), name.size(), &seq) &&
            dataset.name.is_companion(seq)) {
          frames->push_back(seq);
        }
        return true;
      });
}

Result<FrameSet> frames_of(const Wanted& part) {
  std::vector<FrameSeq> frames = part.named;
  if (part.listed) {
    Result<Listing> listing = list_directory(
        frame_directory(part.dataset->path, part.dataset->name), part.dataset->name);
    if (listing ? listing->frames.empty() : listing.error().code == ENOENT) {
      if (std::string mismatch = describe_mismatch(*part.dataset); !mismatch.empty()) {
        return Error{EINVAL, mismatch, kMismatchHint};
      }
    }
    if (!listing) return listing.error();
    std::ranges::copy_if(listing->frames, std::back_inserter(frames),
                         [&](FrameSeq seq) { return part.listed->contains(seq); });
    if (part.listed->last >= kFirstCompanion) add_companions(*part.dataset, &frames);
  }
  return FrameSet(std::move(frames));
}

// Estimates by the sizes of some frames: those of one trajectory are alike, and an origin is
// slow.
std::uint64_t expected_bytes(const Work& work) {
  std::size_t step = std::max<std::size_t>(1, work.frames.size() / kSizesLookedAt);
  std::uint64_t bytes = 0, looked_at = 0;
  for (std::size_t i = 0; i < work.frames.size(); i += step) {
    struct stat st;
    std::string name = frame_name(*work.dataset, work.frames[i]);
    if (past_the_shim(SYS_newfstatat, work.directory.get(), name.c_str(), &st,
                      AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    bytes += static_cast<std::uint64_t>(st.st_size);
    ++looked_at;
  }
  if (looked_at == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) /
                                    static_cast<double>(looked_at) *
                                    static_cast<double>(work.frames.size()));
}

// The frames that are wanted; an error is the origin's.
Result<Work> look_at_origin(const Wanted& part) {
  const std::string& path = part.dataset->path;
  Result<FrameSet> wanted = frames_of(part);
  if (!wanted) return wanted.error();
  Work work{part.dataset, {}, wanted->frames()};
  work.directory = UniqueFd(static_cast<int>(
      past_the_shim(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (!work.directory.valid()) return last_error(path);
  if (work.frames.empty()) {
    print_warning(path + ": no such frames there",
                  "its frames are named " + part.dataset->frames);
  }
  return work;
}

// A sample has compared the held frames with the origin (D10).
Status leave_out_held(Client& client, Work& work, Totals& totals) {
  const std::string& path = work.dataset->path;
  if (Status sampled = client.sample(path); !sampled && is_silence(sampled.error())) {
    return sampled.error();
  }
  Result<std::vector<ListRecord>> records = client.list(path);
  if (!records) return records.error();
  std::vector<FrameSeq> held;
  for (const ListRecord& record : *records) held.push_back(record.seq);
  const FrameSet wanted(std::move(work.frames));
  work.frames = set_difference(wanted, FrameSet(std::move(held))).frames();

  totals.frames += wanted.size();
  totals.there += wanted.size() - work.frames.size();
  totals.to_bring += work.frames.size();
  totals.expected_bytes += expected_bytes(work);
  return Done{};
}

Status warn_if_too_large(Client& client, const Totals& totals) {
  Result<std::string> status = client.status();
  if (!status) return status.error();
  auto parsed = nlohmann::ordered_json::parse(*status, nullptr, false);
  std::uint64_t capacity = parsed.is_object() ? parsed.value("capacity_bytes", 0ULL) : 0;
  if (capacity != 0 && totals.expected_bytes > capacity) {
    print_warning(
        fmt::format("these are about {}, and the cache holds {} at most",
                    format_size(totals.expected_bytes), format_size(capacity)),
        "the first ones are brought, until it is full; --frames A-B takes a part of a dataset");
  }
  return Done{};
}

void print_summary(const WarmOptions& options, const Totals& totals) {
  if (options.json) {
    nlohmann::ordered_json summary{
        {"frames", totals.frames},       {"brought", totals.brought},
        {"already_there", totals.there}, {"no_room", totals.no_room},
        {"failed", totals.failed},       {"bytes", totals.bytes},
        {"failures", totals.failures},   {"stopped", Interruption::wanted()}};
    if (options.dry_run) {
      summary["would_bring"] = totals.to_bring;
      summary["expected_bytes"] = totals.expected_bytes;
    }
    return print_json(summary);
  }
  if (totals.failures.size() > kMostFailuresShown) {
    print_error(fmt::format("and {} more", totals.failures.size() - kMostFailuresShown));
  }
  if (options.dry_run) {
    print_line("would bring {} (about {}); {} already there", plural(totals.to_bring, "frame"),
               format_size(totals.expected_bytes), format_count(totals.there));
    return;
  }
  print_line("{}brought {} ({}); {} already there, {} without room, {} failed",
             Interruption::wanted() ? "stopped; " : "", plural(totals.brought, "frame"),
             format_size(totals.bytes), format_count(totals.there),
             format_count(totals.no_room), format_count(totals.failed));
}

// ---- Many nodes: each frame that none of them holds is brought by one of them, in turn.

using Json = nlohmann::ordered_json;

struct Share {  // of a node
  const DatasetConfig* dataset;
  std::vector<FrameSeq> frames;
};

std::vector<NodeAnswer> ask_what_is_held(EveryNode& nodes, const std::vector<Work>& works) {
  return nodes.ask(EveryNode::Limit::kOverall,
                   [&works](Client& client, std::size_t) -> Result<Json> {
                     Json held = Json::array();
                     for (const Work& work : works) {
                       auto records = client.list(work.dataset->path);
                       if (!records) return records.error();
                       std::vector<FrameSeq> frames;
                       for (const ListRecord& record : *records) frames.push_back(record.seq);
                       held.push_back(FrameSet(std::move(frames)).encode());
                     }
                     return held;
                   });
}

// By node; those that do not answer get nothing. `there` counts what some node holds.
std::vector<std::vector<Share>> divide(const std::vector<Work>& works,
                                       const std::vector<NodeAnswer>& held,
                                       std::vector<std::uint64_t>* there) {
  std::vector<std::vector<Share>> shares(held.size());
  there->assign(held.size(), 0);
  std::vector<std::size_t> answering;
  for (std::size_t node = 0; node < held.size(); ++node) {
    if (held[node].is_fine()) answering.push_back(node);
  }
  std::size_t turn = 0;
  for (std::size_t i = 0; i < works.size() && !answering.empty(); ++i) {
    FrameSet missing{std::vector<FrameSeq>(works[i].frames)};
    for (std::size_t node : answering) {
      Result<FrameSet> frames = FrameSet::decode(held[node].figures.at(i).get<std::string>());
      if (!frames) continue;
      FrameSet left = set_difference(missing, *frames);
      (*there)[node] += missing.size() - left.size();
      missing = std::move(left);
      shares[node].push_back({works[i].dataset, {}});
    }
    for (FrameSeq seq : missing.frames()) {
      shares[answering[turn++ % answering.size()]].back().frames.push_back(seq);
    }
  }
  return shares;
}

Result<Json> fetch_share(Client& client, const std::vector<Share>& shares) {
  std::uint64_t brought = 0, no_room = 0;
  Json failures = Json::array();
  for (const Share& share : shares) {
    for (std::size_t i = 0; i < share.frames.size() && !Interruption::wanted();) {
      const std::string name = frame_name(*share.dataset, share.frames[i]);
      const Status fetched = client.fetch(share.dataset->path, name);
      const int code = fetched ? 0 : fetched.error().code;
      if (code == EAGAIN) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      if (code != 0 && is_silence(fetched.error())) return fetched.error();
      if (code == ENOSPC || code == EDQUOT) {
        no_room += share.frames.size() - i;
        break;
      }
      if (code == 0) ++brought;
      if (code != 0) {
        failures.push_back(
            {{"frame", share.dataset->path + "/" + name}, {"reason", std::strerror(code)}});
      }
      ++i;
    }
  }
  return Json{{"brought", brought}, {"no_room", no_room}, {"failures", failures}};
}

int warm_nodes(const WarmOptions& options, const Node& node, const std::vector<Work>& works,
               int outcome) {
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  Interruption interruption;
  std::vector<NodeAnswer> answers = ask_what_is_held(nodes, works);
  std::vector<std::uint64_t> there;
  const std::vector<std::vector<Share>> shares = divide(works, answers, &there);
  if (options.dry_run) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      std::uint64_t count = 0;
      for (const Share& share : shares[i]) count += share.frames.size();
      answers[i].figures = {{"would_bring", count}};
    }
  } else {
    const auto fetched =
        nodes.ask(EveryNode::Limit::kSilence, [&shares](Client& client, std::size_t mine) {
          return fetch_share(client, shares[mine]);
        });
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].is_fine()) answers[i] = fetched[i];
    }
  }
  bool is_whole = true;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Json& figures = answers[i].figures;
    if (!answers[i].is_fine()) continue;
    figures["already_there"] = there[i];
    if (options.dry_run) continue;
    is_whole = is_whole && figures.at("no_room") == 0 && figures.at("failures").empty();
  }
  if (options.json) {
    print_nodes_json(answers);
  } else if (options.dry_run) {
    print_nodes_table(answers, {">WOULD BRING", ">ALREADY THERE"}, [](const Json& figures) {
      return std::vector{format_count(figures.at("would_bring")),
                         format_count(figures.at("already_there"))};
    });
  } else {
    print_nodes_table(answers, {">BROUGHT", ">ALREADY THERE", ">NO ROOM", ">FAILED"},
                      [](const Json& figures) {
                        return std::vector{format_count(figures.at("brought")),
                                           format_count(figures.at("already_there")),
                                           format_count(figures.at("no_room")),
                                           format_count(figures.at("failures").size())};
                      });
  }
  Interruption::pass_on();
  const int asked = EveryNode::outcome(answers);
  return nodes.end(asked != kDone ? asked : is_whole ? outcome : int{kFailed});
}

}  // namespace

int warm_command(const WarmOptions& options) {
  if (options.jobs < 1 || options.jobs > WarmOptions::kMostJobs) {
    return usage_error({EINVAL,
                        fmt::format("--jobs {}: not a number of frames from 1 to {}",
                                    options.jobs, WarmOptions::kMostJobs),
                        "for example --jobs 4"});
  }
  Node node = load_node_or_exit(options.config, kUsage);
  Result<std::vector<Order>> orders = orders_of(node.config, options.paths, options.frames);
  if (!orders) return usage_error(orders.error());

  const bool of_nodes = options.nodes.is_given();
  std::optional<Client> client;
  if (!of_nodes) client = connect_or_exit(node);
  Totals totals;
  std::vector<Work> works;
  int outcome = kDone;
  for (const Wanted& part : all_wanted(*orders)) {
    Result<Work> work = look_at_origin(part);
    if (!work) {
      const Error& error = work.error();
      print_error(part.dataset->path + ": " +
                      (error.code == EINVAL ? error.context : std::strerror(error.code)),
                  error.hint);
      outcome = kFailed;
      continue;
    }
    const Status planned = of_nodes ? Done{} : leave_out_held(*client, *work, totals);
    if (planned) {
      works.push_back(std::move(*work));
      continue;
    }
    outcome = request_failed(node, part.dataset->path, planned.error());
    if (outcome == kNoDaemon) return outcome;
  }
  if (of_nodes) return warm_nodes(options, node, works, outcome);
  if (Status warned = warn_if_too_large(*client, totals); !warned) {
    return request_failed(node, node.runtime, warned.error());
  }

  Interruption interruption;
  for (const Work& work : works) {
    if (options.dry_run || Interruption::wanted()) break;
    Status done = DatasetWarming(node, *client, work, options.jobs, totals).run();
    if (!done) {
      outcome = request_failed(node, work.dataset->path, done.error());
      break;
    }
  }
  print_summary(options, totals);
  Interruption::pass_on();
  return outcome == kDone && totals.failed + totals.no_room > 0 ? int{kFailed} : outcome;
}

}  // namespace zazen
