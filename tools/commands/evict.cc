// zazenctl evict: drops copies from this node's cache. It never touches the origin.
//
// A large eviction is done in pieces of some hundred frames. So no single request outlasts its
// time limit, progress can be shown, and ^C stops between two pieces.
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

constexpr std::size_t kFramesPerRequest = 256;

struct Piece {
  FrameRange range;
  std::size_t frames;
};

// Cuts the range into pieces that hold kFramesPerRequest frames each. There are no gaps, so a
// frame that arrives meanwhile is evicted, too.
std::vector<Piece> pieces_of(FrameRange range, std::vector<FrameSeq> held) {
  std::sort(held.begin(), held.end());
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < held.size(); i += kFramesPerRequest) {
    std::size_t next = std::min(i + kFramesPerRequest, held.size());
    FrameRange part{i == 0 ? range.first : held[i],
                    next == held.size() ? range.last : held[next] - 1};
    pieces.push_back({part, next - i});
  }
  return pieces;
}

std::uint32_t what_to_evict(const EvictOptions& options) {
  std::uint32_t what = 0;
  if (options.dry_run) what |= kEvictDryRun;
  if (options.wants(FrameKind::kNative)) what |= kEvictNatives;
  if (options.wants(FrameKind::kAlien)) what |= kEvictAliens;
  return what;
}

Result<EvictReply> evict_range(Client& client, const EvictOptions& options,
                               const std::string& dataset, FrameRange range,
                               bool shows_progress) {
  Result<std::vector<ListRecord>> records = client.list(dataset);
  if (!records) return records.error();
  std::vector<FrameSeq> held;
  for (const ListRecord& record : *records) {
    bool inside = record.seq >= range.first && record.seq <= range.last;
    if (inside && options.wants(record.kind)) held.push_back(record.seq);
  }

  EvictReply gone{};
  std::size_t passed = 0;
  Progress progress("evict " + dataset, held.size());
  for (const Piece& piece : pieces_of(range, std::move(held))) {
    Result<EvictReply> reply =
        client.evict(dataset, piece.range.first, piece.range.last, what_to_evict(options));
    if (!reply) return reply.error();
    gone.frames += reply->frames;
    gone.bytes += reply->bytes;
    gone.pinned += reply->pinned;
    passed += piece.frames;
    if (shows_progress) progress.show(passed, gone.bytes);
  }
  return gone;
}

std::string described(const EvictOptions& options, const std::string& path, bool frame,
                      EvictReply gone) {
  const char* verb = options.dry_run ? "would evict" : "evicted";
  if (frame && gone.pinned > 0) return printable(path) + ": pinned, stays";
  if (frame && gone.frames == 0) return printable(path) + ": not in the cache";
  if (frame) return fmt::format("{} {} ({})", verb, printable(path), format_size(gone.bytes));
  std::string kind = options.natives == options.aliens ? ""
                     : options.natives                 ? "pushed "
                                                       : "fetched ";
  std::string stay =
      gone.pinned == 0 ? "" : fmt::format("; {} stay", plural(gone.pinned, "pinned frame"));
  return fmt::format("{} {} ({}) of {}{}", verb, plural(gone.frames, kind + "frame"),
                     format_size(gone.bytes), printable(path), stay);
}

int evict_on_nodes(const EvictOptions& options, const Node& node,
                   const std::vector<Order>& orders) {
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  const auto answers =
      nodes.ask(EveryNode::Limit::kSilence, [&](Client& client, std::size_t) -> Result<Json> {
        EvictReply total{};
        for (const Order& order : orders) {
          Result<EvictReply> gone =
              evict_range(client, options, order.dataset->path, order.range, false);
          if (!gone) return gone.error();
          total.frames += gone->frames;
          total.bytes += gone->bytes;
          total.pinned += gone->pinned;
        }
        return Json{{"dry_run", options.dry_run},
                    {"frames", total.frames},
                    {"bytes", total.bytes},
                    {"pinned", total.pinned}};
      });
  if (options.json) {
    print_nodes_json(answers);
  } else {
    const char* title = options.dry_run ? ">WOULD EVICT" : ">EVICTED";
    print_nodes_table(answers, {title, ">BYTES", ">PINNED, STAY"}, [](const Json& figures) {
      return std::vector{format_count(figures.at("frames")), format_size(figures.at("bytes")),
                         format_count(figures.at("pinned"))};
    });
    if (options.dry_run) fmt::print("nothing was changed\n");
  }
  return nodes.end(EveryNode::outcome(answers));
}

}  // namespace

int evict_command(const EvictOptions& options) {
  if (options.paths.empty() && !options.all) {
    return usage_error({EINVAL, "evict: nothing named",
                        "name datasets or frames, or say --all for everything on the node"});
  }
  if (!options.paths.empty() && options.all) {
    return usage_error({EINVAL, "evict: both --all and paths", "say one of them"});
  }
  Node node = load_node_or_exit(options.config, kUsage);
  Result<std::vector<Order>> orders = orders_of(node.config, options.paths, options.frames);
  if (!orders) return usage_error(orders.error());

  if (options.nodes.is_given()) return evict_on_nodes(options, node, *orders);
  Client client = connect_or_exit(node);
  EvictReply total{};
  Json parts = Json::array();
  for (const Order& order : *orders) {
    Result<EvictReply> gone =
        evict_range(client, options, order.dataset->path, order.range, true);
    if (!gone) return request_failed(node, order.shown, gone.error());
    total.frames += gone->frames;
    total.bytes += gone->bytes;
    total.pinned += gone->pinned;
    parts.push_back({{"path", order.shown},
                     {"frames", gone->frames},
                     {"bytes", gone->bytes},
                     {"pinned", gone->pinned}});
    if (!options.json) print_text(described(options, order.shown, order.is_frame, *gone));
  }
  if (options.json) {
    print_json({{"dry_run", options.dry_run},
                {"frames", total.frames},
                {"bytes", total.bytes},
                {"pinned", total.pinned},
                {"evicted", parts}});
  } else if (options.dry_run) {
    print_line("nothing was changed");
  } else if (total.pinned > 0) {
    fmt::print(stderr, "hint: zazenctl unpin DIR lets pinned frames go\n");
  }
  return kDone;
}

}  // namespace zazen
