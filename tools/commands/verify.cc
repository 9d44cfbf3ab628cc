// zazenctl verify: makes the daemon read its copies and compare their checksums. The daemon
// drops bad ones; the next read of such a frame takes the origin and makes a new copy.
//
// The daemon verifies the range in short pieces, so progress can be shown and ^C stops between
// two of them.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "tools/cluster/every_node.h"
#include "tools/commands/commands.h"
#include "tools/support/frame_range.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/progress.h"
#include "tools/support/target.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTimeoutMs = 600'000;  // one copy may be large, and its disk slow
constexpr std::size_t kMostShown = 20;

struct Totals {
  std::uint64_t frames = 0, bytes = 0, bad = 0, missing = 0;
  Json findings = Json::array();
};

std::string described(const VerifyFinding& finding) {
  switch (finding.verdict) {
    case Verdict::kGood:
      break;
    case Verdict::kMissing:
      return "its copy was gone";
    case Verdict::kChecksum:
      return "its checksum differs";
    case Verdict::kSize:
      return "its size differs";
    case Verdict::kIdentity:
      return "its mode or attribute is not a copy's";
    case Verdict::kUnreadable:
      return std::string("cannot be read: ") + std::strerror(finding.error);
  }
  return "unknown";
}

void add_findings(const DatasetConfig& dataset, const std::vector<VerifyFinding>& findings,
                  Progress* progress, Totals& totals) {
  for (const VerifyFinding& finding : findings) {
    std::string path = dataset.path + "/" + frame_name(dataset, finding.seq);
    std::string what = described(finding);
    totals.findings.push_back({{"frame", path}, {"what", what}});
    if (finding.verdict == Verdict::kMissing) {
      ++totals.missing;
    } else if (++totals.bad <= kMostShown && progress != nullptr) {
      progress->clear();
      print_error(path + ": bad copy, dropped: " + what);
    }
  }
}

Status verify_range(Client& client, const DatasetConfig& dataset, const FrameRange& range,
                    bool shows_progress, Totals& totals) {
  Result<std::vector<ListRecord>> held = client.list(dataset.path);
  if (!held) return held.error();
  auto count = std::ranges::count_if(
      *held, [&](const ListRecord& record) { return range.contains(record.seq); });
  Progress progress("verify " + dataset.path, static_cast<std::uint64_t>(count));
  std::uint64_t frames = 0, bytes = 0;
  for (FrameSeq next = range.first;;) {
    Result<Client::Verified> piece = client.verify(dataset.path, next, range.last);
    if (!piece) return piece.error();
    frames += piece->figures.frames;
    bytes += piece->figures.bytes;
    add_findings(dataset, piece->findings, shows_progress ? &progress : nullptr, totals);
    if (shows_progress) progress.show(frames, bytes);
    if (piece->figures.done != 0) break;
    next = piece->figures.next;
  }
  totals.frames += frames;
  totals.bytes += bytes;
  return Done{};
}

Json json_of(const Totals& totals) {
  return {{"frames", totals.frames},
          {"bytes", totals.bytes},
          {"bad", totals.bad},
          {"missing", totals.missing},
          {"findings", totals.findings}};
}

void print_summary(const VerifyOptions& options, const Totals& totals) {
  if (options.json) return print_json(json_of(totals));
  if (totals.bad > kMostShown) {
    print_error(fmt::format("and {} more", format_count(totals.bad - kMostShown)));
  }
  std::string missing = totals.missing > 0
                            ? fmt::format("; {} had no file", plural(totals.missing, "frame"))
                            : "";
  print_line(
      "verified {} ({}); {}{}", plural(totals.frames, "frame"), format_size(totals.bytes),
      totals.bad == 0 ? "all good" : format_count(totals.bad) + " bad, dropped", missing);
}

void print_findings(const std::vector<NodeAnswer>& answers) {
  for (const NodeAnswer& answer : answers) {
    if (!answer.is_fine()) continue;
    const Json& findings = answer.figures.at("findings");
    std::size_t left = findings.size();
    for (const Json& finding : findings) {
      if (findings.size() - left == kMostShown) break;
      --left;
      print_error(fmt::format("{}: {}: {}", answer.node.name,
                              finding.at("frame").get<std::string>(),
                              finding.at("what").get<std::string>()));
    }
    if (left > 0) print_error(answer.node.name + ": and " + format_count(left) + " more");
  }
}

int verify_on_nodes(const VerifyOptions& options, const Node& node,
                    const std::vector<Order>& orders) {
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  const auto answers =
      nodes.ask(EveryNode::Limit::kSilence, [&](Client& client, std::size_t) -> Result<Json> {
        Totals totals;
        for (const Order& order : orders) {
          Status done = verify_range(client, *order.dataset, order.range, false, totals);
          if (!done) return done.error();
        }
        return json_of(totals);
      });
  if (options.json) {
    print_nodes_json(answers);
  } else {
    print_nodes_table(
        answers, {">VERIFIED", ">BYTES", ">BAD", ">NO FILE"}, [](const Json& figures) {
          return std::vector{format_count(figures.at("frames")),
                             format_size(figures.at("bytes")), format_count(figures.at("bad")),
                             format_count(figures.at("missing"))};
        });
    print_findings(answers);
  }
  const bool all_good = std::ranges::all_of(answers, [](const NodeAnswer& answer) {
    return !answer.is_fine() || answer.figures.at("bad") == 0;
  });
  const int outcome = EveryNode::outcome(answers);
  return nodes.end(outcome == kDone && !all_good ? kFailed : outcome);
}

}  // namespace

int verify_command(const VerifyOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  Result<std::vector<Order>> orders = orders_of(node.config, options.paths, options.frames);
  if (!orders) return usage_error(orders.error());

  if (options.nodes.is_given()) return verify_on_nodes(options, node, *orders);
  Client client = connect_or_exit(node, kTimeoutMs);
  Totals totals;
  for (const Order& order : *orders) {
    Status done = verify_range(client, *order.dataset, order.range, true, totals);
    if (!done) return request_failed(node, order.dataset->path, done.error());
  }
  print_summary(options, totals);
  return totals.bad == 0 ? kDone : kFailed;
}

}  // namespace zazen
