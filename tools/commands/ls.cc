// zazenctl ls: the datasets of this node, or the frames that it holds of some.
//
// Each frame is printed as soon as it arrives, one line each, in JSON too: there may be
// millions.
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/lean/frames/identity.h"
#include "bodhi/lean/run/report.h"
#include "tools/cluster/every_node.h"
#include "tools/commands/commands.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/target.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  std::uint64_t native = 0, alien = 0, bytes = 0, pinned = 0;
};

void add(const LsOptions& options, const ListRecord& record, Totals* totals) {
  if (!options.wants(record.kind)) return;
  (record.kind == FrameKind::kNative ? totals->native : totals->alien) += 1;
  totals->bytes += record.bytes;
  totals->pinned += record.pinned;
}

Json json_of(const Totals& totals) {
  return {{"native", totals.native},
          {"alien", totals.alien},
          {"bytes", totals.bytes},
          {"pinned", totals.pinned}};
}

int list_datasets(const Node& node, const LsOptions& options) {
  Client client = connect_or_exit(node);
  TextTable table({"DATASET", "FRAMES", ">PUSHED", ">FETCHED", ">BYTES", ">PINNED"});
  Json datasets = Json::array();
  for (const DatasetConfig& dataset : node.config.datasets) {
    Result<std::vector<ListRecord>> records = client.list(dataset.path);
    if (!records) return request_failed(node, dataset.path, records.error());
    Totals totals;
    for (const ListRecord& record : *records) add(options, record, &totals);
    Json one = {{"path", dataset.path}, {"frames", dataset.frames}};
    one.update(json_of(totals));
    datasets.push_back(std::move(one));
    table.add({printable(dataset.path), printable(dataset.frames), format_count(totals.native),
               format_count(totals.alien), format_size(totals.bytes),
               format_count(totals.pinned)});
  }
  if (options.json) {
    print_json({{"datasets", datasets}});
  } else {
    table.print();
  }
  return kDone;
}

// The output of -l: the origin's modification time and the checksum, as kept with the copy.
struct Details {
  std::string modified = "-", checksum = "-";
};
Details details_of(const Config& config, const DatasetConfig& dataset,
                   const std::string& name) {
  OriginIdentity identity;
  std::string copy = config.cache + dataset.path + "/" + name;
  if (read_identity_at(copy.c_str(), &identity) != 0) return {};
  std::time_t seconds = identity.mtime_ns / 1'000'000'000;
  return {fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(seconds)),
          fmt::format("{:016x}", identity.checksum)};
}

class FrameLines {
 public:
  FrameLines(const Node& node, const LsOptions& options) : node_(node), options_(options) {
    if (options_.json) fmt::print("{{\"schema_version\": {}, \"frames\": [", kSchemaVersion);
  }
  ~FrameLines() {
    if (options_.json) fmt::print("\n]}}\n");
  }
  FrameLines(const FrameLines&) = delete;
  FrameLines& operator=(const FrameLines&) = delete;

  void print(const DatasetConfig& dataset, const ListRecord& record) {
    std::string name = frame_name(dataset, record.seq);
    const bool is_companion = dataset.name.is_companion(record.seq);
    if (options_.json) {
      Json frame{{"dataset", dataset.path},
                 {"name", name},
                 {"seq", is_companion ? Json() : Json(record.seq)},
                 {"companion", is_companion},
                 {"kind", kind_name(record.kind)},
                 {"bytes", record.bytes},
                 {"pinned", record.pinned != 0}};
      if (options_.details) {
        Details details = details_of(node_.config, dataset, name);
        frame["modified"] = details.modified;
        frame["checksum"] = details.checksum;
      }
      fmt::print("{}\n  {}", first_ ? "" : ",", compact_json(frame));
    } else if (options_.details) {
      Details details = details_of(node_.config, dataset, name);
      print_frame(fmt::format("{:7}  {:6}  {:>12}  {}  {}  ", kind_words(record.kind),
                              record.pinned != 0 ? "pinned" : "-", record.bytes,
                              details.modified, details.checksum),
                  name);
    } else {
      print_frame(fmt::format("{:7}  {:>12}  ", kind_words(record.kind), record.bytes), name);
    }
    first_ = false;
  }

 private:
  void print_frame(const std::string& facts, const std::string& name) const {
    fmt::print("{}{}\n", facts, shortened(printable(name), columns_ - facts.size()));
  }

  const Node& node_;
  const LsOptions& options_;
  const std::size_t columns_ = std::max<std::size_t>(terminal_columns(STDOUT_FILENO), 80);
  bool first_ = true;
};

int list_frames(const Node& node, const LsOptions& options,
                const std::vector<Target>& targets) {
  Client client = connect_or_exit(node);
  std::vector<std::vector<ListRecord>> held;
  int outcome = kDone;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    Result<std::vector<ListRecord>> records = client.list(target.dataset->path);
    if (!records) return request_failed(node, target.dataset->path, records.error());
    std::erase_if(*records, [&](const ListRecord& record) {
      return !options.wants(record.kind) || (target.frame && record.seq != *target.frame);
    });
    std::sort(records->begin(), records->end(),
              [](const ListRecord& a, const ListRecord& b) { return a.seq < b.seq; });
    if (target.frame && records->empty()) {
      print_error(
          options.paths[i] + ": not in the cache of " + node.config.node,
          "zazenctl explain " + options.paths[i] + " says why, zazenctl warm brings it");
      outcome = kFailed;
    }
    held.push_back(std::move(*records));
  }

  FrameLines lines(node, options);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!options.json && targets.size() > 1 && !targets[i].frame) {
      fmt::print("{}{}:\n", i > 0 ? "\n" : "", printable(targets[i].dataset->path));
    }
    for (const ListRecord& record : held[i]) lines.print(*targets[i].dataset, record);
  }
  return outcome;
}

// Of each node what it holds of the targets; without any, of all datasets.
int list_nodes(const Node& node, const LsOptions& options, std::vector<Target> targets) {
  if (targets.empty()) {
    for (const DatasetConfig& dataset : node.config.datasets) targets.push_back({&dataset, {}});
  }
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  const auto answers =
      nodes.ask(EveryNode::Limit::kOverall, [&](Client& client, std::size_t) -> Result<Json> {
        Totals totals;
        for (const Target& target : targets) {
          Result<std::vector<ListRecord>> records = client.list(target.dataset->path);
          if (!records) return records.error();
          for (const ListRecord& record : *records) {
            if (!target.frame || record.seq == *target.frame) add(options, record, &totals);
          }
        }
        return json_of(totals);
      });
  if (options.json) {
    print_nodes_json(answers);
  } else {
    print_nodes_table(
        answers, {">PUSHED", ">FETCHED", ">BYTES", ">PINNED"}, [](const Json& totals) {
          return std::vector{format_count(totals.at("native")),
                             format_count(totals.at("alien")), format_size(totals.at("bytes")),
                             format_count(totals.at("pinned"))};
        });
  }
  return nodes.end(EveryNode::outcome(answers));
}

}  // namespace

int ls_command(const LsOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  const bool of_nodes = options.nodes.is_given();
  if (of_nodes && options.details) {
    return usage_error({EINVAL, "-l: of this node only", "leave out --nodes and --all"});
  }
  if (options.paths.empty() && !of_nodes) return list_datasets(node, options);

  std::vector<Target> targets;
  for (const std::string& path : options.paths) {
    Result<Target> target = resolve_target(node.config, path);
    if (!target) return usage_error(target.error());
    targets.push_back(*target);
  }
  return of_nodes ? list_nodes(node, options, targets) : list_frames(node, options, targets);
}

}  // namespace zazen
