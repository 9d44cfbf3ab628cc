// zazenctl pin, unpin: frames that are never evicted, neither for others nor by `evict`. They
// may be held already or come later. Pins survive a restart.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "tools/commands/commands.h"
#include "tools/support/frame_range.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/target.h"

namespace zazen {
namespace {

int usage_error(const Error& error) {
  print_error(error.context, error.hint);
  return kUsage;
}

}  // namespace

int pin_command(const PinOptions& options, bool pin) {
  Result<FrameRange> range = FrameRange{};
  if (!options.range.empty()) range = parse_range(options.range);
  if (!range) return usage_error(range.error());
  Node node = load_node_or_exit(options.config, kUsage);
  Result<Target> target = resolve_target(node.config, options.path);
  if (!target) return usage_error(target.error());
  if (target->frame && !options.range.empty()) {
    return usage_error({EINVAL, options.path + ": a frame; a range goes with a dataset", {}});
  }
  range = target->frame ? FrameRange{*target->frame, *target->frame}
                        : range_in(*target->dataset, options.range, *range);

  Client client = connect_or_exit(node);
  Result<EvictReply> held = client.pin(target->dataset->path, *range, pin);
  if (!held) return request_failed(node, options.path, held.error());
  if (options.json) {
    print_json({{"path", options.path},
                {"first", range->first},
                {"last", range->last},
                {"pinned", pin},
                {"frames", held->frames},
                {"bytes", held->bytes}});
  } else {
    std::string frames =
        options.range.empty() ? std::string() : " frames " + printable(options.range);
    fmt::print("{} {}{}; {} ({}) of them in the cache\n", pin ? "pinned" : "unpinned",
               printable(options.path), frames, plural(held->frames, "frame"),
               format_size(held->bytes));
  }
  return kDone;
}

}  // namespace zazen
