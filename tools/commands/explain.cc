// zazenctl explain: how the shim treats a path, and why. It describes a program that starts at
// this moment, in this environment. For a rank of a running job, --view (or ZAZEN_VIEW) names
// the rank's view. It reads the files that programs read, and asks the daemon only why a copy
// is gone.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/node/client.h"
#include "bodhi/node/listing.h"
#include "bodhi/node/seqlog.h"
#include "coord/settings.h"
#include "tools/commands/commands.h"
#include "tools/commands/job_table.h"
#include "tools/support/frame_state.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/shim_environment.h"
#include "tools/support/target.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

// Lines for people and the same facts as JSON, filled side by side.
class Answer {
 public:
  explicit Answer(const std::string& path) { json["path"] = path; }

  void line(const std::string& title, const std::string& text) {
    lines_.push_back(fmt::format("  {:9} {}", title, printable(text)));
  }
  void print() const {
    print_text(printable(json.at("path")));
    for (const std::string& text : lines_) print_text(text);
  }
  Json json;

 private:
  std::vector<std::string> lines_;
};

class RankView {
 public:
  explicit RankView(const std::string& directory) {
    if (!directory.empty()) map_view(directory.c_str(), &view_, &tally_);
  }
  ~RankView() {
    if (view_ != nullptr) unmap_view(view_, tally_);
  }
  RankView(const RankView&) = delete;
  RankView& operator=(const RankView&) = delete;

  const View* get() const { return view_; }
  std::string rank() const { return fmt::format("{} of {}", view_->rank, view_->ranks); }

 private:
  const View* view_ = nullptr;
  Tally* tally_ = nullptr;
};

FrameName compile(const std::string& frames, const std::string& also = "") {
  FrameName name;
  const char* why;
  FrameName::parse(frames.data(), frames.size(), &name, &why);  // validated before
  name.add_also(also.data(), also.size(), &why);
  return name;
}

// The daemon's table comes first: the configuration file may have changed since the daemon
// started.
std::vector<KnownDataset> known_datasets(const Node& node, const TableState& daemon,
                                         const View* view) {
  std::vector<KnownDataset> known;
  if (daemon.serves()) {
    for (std::uint32_t i = 0; i < daemon.table().dataset_count; ++i) {
      const TableDataset& dataset = daemon.table().datasets[i];
      if (dataset.removed != 0) continue;
      known.push_back({dataset.path, dataset.frames, compile(dataset.frames, dataset.also),
                       &dataset, nullptr});
    }
  } else {
    for (const DatasetConfig& dataset : node.config.datasets) {
      known.push_back({dataset.path, dataset.frames, dataset.name, nullptr, nullptr});
    }
  }
  for (std::uint32_t i = 0; view != nullptr && i < view->dataset_count; ++i) {
    const ViewDataset& seen = view->datasets[i];
    auto same = std::find_if(known.begin(), known.end(),
                             [&](const KnownDataset& each) { return each.path == seen.path; });
    if (same == known.end()) {
      known.push_back({seen.path, seen.frames, compile(seen.frames), nullptr, nullptr});
      same = known.end() - 1;
    }
    same->seen = &seen;
  }
  return known;
}

void explain_reading(const Reading& reading, Answer& answer) {
  static constexpr const char* kWords[] = {"cache", "origin", "nothing"};
  answer.json["reads"] = kWords[reading.from];
  answer.json["because"] = reading.because;
  answer.json["then"] = reading.then;
  answer.line("reading",
              reading.from == Reading::kNothing
                  ? "fails: " + reading.because
                  : fmt::format("from the {}: {}{}{}", kWords[reading.from], reading.because,
                                reading.then.empty() ? "" : "; ", reading.then));
}

void explain_copy(const CopyState& copy, Answer& answer) {
  if (copy.error != 0) {
    answer.json["copy"] = nullptr;
    answer.line("copy", copy.is_suspended      ? "held, and not served while somebody may write"
                        : copy.error == ENOENT ? "none"
                                               : std::strerror(copy.error));
    return;
  }
  Json json = {{"as_origin", copy.is_as_origin()}, {"differs", copy.differs}};
  std::string text = "there, but without the origin's identity";
  if (copy.has_identity()) {
    json["kind"] = kind_name(copy.identity.kind);
    json["bytes"] = copy.identity.size;
    text = fmt::format(
        "{}, {}, {}", kind_words(copy.identity.kind), format_size(copy.identity.size),
        copy.differs.empty() ? "as the origin"
                             : fmt::format("stale: {}", fmt::join(copy.differs, ", ")));
  }
  answer.json["copy"] = json;
  answer.line("copy", text);
}

// Adds what the daemon remembers of the frame, if it answers.
void explain_history(const Node& node, const KnownDataset& dataset, FrameSeq seq,
                     Answer& answer) {
  constexpr int kPatienceMs = 1'000;
  answer.json["dropped"] = answer.json["doubted"] = nullptr;
  char name[kMaxTemplate + 32];
  std::string text(name, dataset.name.format(seq, name, sizeof name));
  Result<Client> client = Client::connect(node.runtime, kPatienceMs);
  if (!client) return;
  Result<std::string> history = client->history(dataset.path, text);
  if (!history) return;
  Json said = Json::parse(*history, nullptr, false);
  auto tell = [&](const char* key, const char* title) {
    if (!said.is_object() || !said.contains(key) || !said[key].is_object()) return;
    answer.json[key] = said[key];
    const std::int64_t ago = ::time(nullptr) - said[key].value("at", std::int64_t{0});
    answer.line(title, fmt::format("{} s ago: {}", std::max(ago, std::int64_t{0}),
                                   said[key].value("why", "")));
  };
  tell("dropped", "dropped");
  if ((dataset.published->doubts.load() & (kStale | kUnwatched)) != 0)
    tell("doubted", "in doubt");
}

void explain_owner(const RankView& view, const KnownDataset& dataset, FrameSeq seq,
                   Answer& answer) {
  const bool own = is_own(*view.get(), *dataset.seen, seq);
  bool in_domain = domain_index(*view.get(), *dataset.seen, seq) >= 0;
  const char* whose = own ? "own" : in_domain ? "another rank's" : "arrived later";
  answer.json["rank"] = view.get()->rank;
  answer.json["frame_is"] = whose;
  answer.line("rank", fmt::format("{}: {}", view.rank(),
                                  own         ? "its own frame"
                                  : in_domain ? "another rank's frame, not in its listings"
                                              : "not in the agreed listing: shown to no rank"));
}

void explain_frame(const Node& node, const TableState& daemon, const RankView& view,
                   const PathMeaning& meaning, Answer& answer) {
  const KnownDataset& dataset = *meaning.dataset;
  FrameState state = frame_state(daemon, dataset, meaning.seq);
  const bool is_companion = dataset.name.is_companion(meaning.seq);
  answer.json["seq"] = is_companion ? Json() : Json(meaning.seq);
  answer.json["companion"] = is_companion;
  if (is_companion) {
    answer.line("companion",
                fmt::format("of {}, cached as its frames are (also)", dataset.path));
  } else {
    answer.line("frame",
                fmt::format("{} of {} ({})", meaning.seq, dataset.path, dataset.frames));
  }
  if (dataset.published != nullptr) {
    explain_copy(state.copy, answer);
    answer.json["checked"] = state.check;
    answer.line("checked", state.check);
    if (daemon.serves()) explain_history(node, dataset, meaning.seq, answer);
  }
  explain_reading(state.reading, answer);
  bool dropped = !shim_is_disabled() && daemon.tells_of(dataset.path);
  answer.json["writing_drops_copy"] = dropped;
  bool pushed =
      dropped && dataset.published != nullptr && dataset.published->push != 0 && !is_companion;
  answer.json["writing_pushes"] = pushed;
  answer.line("writing", fmt::format("at the origin; {}{}",
                                     dropped ? "a change drops the copy" : "a copy would stay",
                                     pushed ? "; the frame is pushed when it is closed" : ""));
  if (is_companion) {
    answer.line("rank", "every rank sees it");
  } else if (dataset.seen != nullptr) {
    explain_owner(view, dataset, meaning.seq, answer);
  }
}

// Why a job that starts at this moment would not divide the dataset; "" if it would.
std::string why_not_divided(const KnownDataset& dataset) {
  if (shim_is_disabled()) return "ZAZEN_DISABLE is set";
  if (dataset.published == nullptr) return "no daemon serves it";
  const Settings settings = settings_from_environment();
  if (effective_filter(settings, *dataset.published) != FilterMode::kOff) return "";
  if (settings.filter == FilterWish::kOff) return "ZAZEN_FILTER=off";
  const bool is_named =
      !settings.datasets || std::ranges::count(*settings.datasets, dataset.path) != 0;
  return is_named ? "filter = false" : "not in ZAZEN_DATASETS";
}

void explain_held(const Table& table, const KnownDataset& dataset, Answer& answer) {
  std::string directory = table.cache + dataset.path + "/";
  std::uint64_t held[2] = {};
  const char* logs[] = {kNativeLog, kAlienLog};
  for (int i = 0; i < 2; ++i) {
    Result<FrameSet> frames = read_sequence_log(directory + logs[i]);
    if (frames) held[i] = frames->size();
  }
  answer.json["native"] = held[0];
  answer.json["alien"] = held[1];
  answer.line("held", fmt::format("{} pushed, {} fetched", format_count(held[0]),
                                  format_count(held[1])));
}

void explain_directory(const TableState& daemon, const RankView& view,
                       const PathMeaning& meaning, Answer& answer) {
  const KnownDataset& dataset = *meaning.dataset;
  answer.line("dataset", fmt::format("{} ({})", dataset.path, dataset.frames));
  Result<Listing> listing =
      list_directory(frame_directory(dataset.path, dataset.name), dataset.name);
  if (listing) {
    answer.json["frames"] = listing->frames.size();
    answer.line("origin", plural(listing->frames.size(), "frame"));
  } else {
    answer.json["frames"] = nullptr;
    answer.line("origin", std::strerror(listing.error().code));
  }
  if (dataset.published != nullptr) explain_held(daemon.table(), dataset, answer);

  if (dataset.seen != nullptr && !shim_is_disabled()) {
    answer.json["rank"] = view.get()->rank;
    answer.json["listed"] = dataset.seen->own_count;
    answer.line("rank", fmt::format("{}: its listing shows {} of {}", view.rank(),
                                    format_count(dataset.seen->own_count),
                                    plural(dataset.seen->domain_count, "frame")));
    return;
  }
  std::string reason = why_not_divided(dataset);
  answer.json["divided"] = reason.empty();
  answer.line("listing", reason.empty()
                             ? "an MPI job gives each rank its own frames; any other "
                               "program sees all"
                             : "every program sees all: " + reason);
}

// Shows the calls for other files in the dataset's directory, and their time, of the latest job
// that made any.
void explain_other_calls(const Node& node, const KnownDataset& dataset, Answer& answer) {
  answer.json["other_files"] = Json::array();
  for (const JobRecord& job : find_jobs({node.runtime}, {})) {
    const std::vector<OtherCalls> others = other_calls(job, dataset.path);
    if (others.empty()) continue;
    answer.json["other_files"] = json_of(others);
    answer.json["other_files_job"] = job.number();
    for (const OtherCalls& other : others) {
      answer.line(
          "beside",
          fmt::format("{}: {} to read, {} to write, {:.2f} s; {}, {:.2f} s; at the origin, "
                      "by job {}",
                      printable(other.pattern), plural(other.reads, "open"),
                      format_count(other.writes), other.open_seconds,
                      plural(other.stats, "stat"), other.stat_seconds,
                      job.number().substr(0, kNumberShown)));
    }
    return;
  }
}

Answer explain_path(const Node& node, const TableState& daemon, const RankView& view,
                    const std::vector<KnownDataset>& datasets, const std::string& path) {
  Answer answer(path);
  PathMeaning meaning = meaning_of(datasets, path);
  static constexpr const char* kKinds[] = {"frame", "directory", "directory", "ordinary"};
  answer.json["kind"] = kKinds[meaning.kind];
  answer.json["rule"] = meaning.rule;
  answer.json["dataset"] = meaning.dataset == nullptr ? Json() : Json(meaning.dataset->path);
  switch (meaning.kind) {
    case PathMeaning::kFrame:
      explain_frame(node, daemon, view, meaning, answer);
      break;
    case PathMeaning::kFrameDirectory:
    case PathMeaning::kDatasetDirectory:
      explain_directory(daemon, view, meaning, answer);
      explain_other_calls(node, *meaning.dataset, answer);
      break;
    case PathMeaning::kOther:
      answer.line("no frame", meaning.rule);
      explain_reading(reading_of_ordinary(path, "it is no frame"), answer);
      break;
  }
  return answer;
}

}  // namespace

int explain_command(const ExplainOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  std::string directory = options.view.empty() ? variable(kViewVariable) : options.view;
  RankView view(directory);
  if (!directory.empty() && view.get() == nullptr) {
    std::string message = directory + ": no view of a rank that runs, or another user's";
    if (!options.view.empty()) {
      print_error(message, "a rank's view is where ZAZEN_VIEW in its environment says");
      return kFailed;
    }
    print_warning(message, "listings are not filtered");
  }
  TableState daemon(node.runtime);
  std::vector<KnownDataset> datasets = known_datasets(node, daemon, view.get());
  Json paths = Json::array();
  for (const std::string& path : options.paths) {
    Answer answer = explain_path(node, daemon, view, datasets, path);
    if (options.json) {
      paths.push_back(answer.json);
    } else {
      answer.print();
    }
  }
  if (options.json) print_json({{"paths", paths}});
  return kDone;
}

}  // namespace zazen
