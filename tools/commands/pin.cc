// zazenctl pin, unpin: frames that are never evicted, neither for others nor by `evict`. They
// may be held already or come later. Pins survive a restart.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "tools/cluster/every_node.h"
#include "tools/commands/commands.h"
#include "tools/support/frame_range.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

int pin_on_nodes(const PinOptions& options, const Node& node, const Order& order, bool pin) {
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  const auto answers =
      nodes.ask(EveryNode::Limit::kOverall, [&](Client& client, std::size_t) -> Result<Json> {
        Result<EvictReply> held = client.pin(order.dataset->path, order.range, pin);
        if (!held) return held.error();
        return Json{{"path", options.path},
                    {"pinned", pin},
                    {"frames", held->frames},
                    {"bytes", held->bytes}};
      });
  if (options.json) {
    print_nodes_json(answers);
  } else {
    const char* title = pin ? ">PINNED" : ">UNPINNED";
    print_nodes_table(answers, {title, ">BYTES"}, [](const Json& figures) {
      return std::vector{format_count(figures.at("frames")), format_size(figures.at("bytes"))};
    });
  }
  return nodes.end(EveryNode::outcome(answers));
}

}  // namespace

int pin_command(const PinOptions& options, bool pin) {
  Node node = load_node_or_exit(options.config, kUsage);
  Result<std::vector<Order>> orders =
      orders_of(node.config, {options.path}, options.range, "a range");
  if (!orders) return usage_error(orders.error());
  const Order& order = orders->front();

  if (options.nodes.is_given()) return pin_on_nodes(options, node, order, pin);
  Client client = connect_or_exit(node);
  Result<EvictReply> held = client.pin(order.dataset->path, order.range, pin);
  if (!held) return request_failed(node, options.path, held.error());
  if (options.json) {
    print_json({{"path", options.path},
                {"first", order.range.first},
                {"last", order.range.last},
                {"pinned", pin},
                {"frames", held->frames},
                {"bytes", held->bytes}});
  } else {
    std::string frames =
        options.range.empty() ? std::string() : " frames " + printable(options.range);
    print_line("{} {}{}; {} ({}) of them in the cache", pin ? "pinned" : "unpinned",
               printable(options.path), frames, plural(held->frames, "frame"),
               format_size(held->bytes));
  }
  return kDone;
}

}  // namespace zazen
