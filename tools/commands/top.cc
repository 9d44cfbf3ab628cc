// zazenctl top: the work of the node, interval by interval. On a terminal it redraws a screen;
// otherwise it prints a block (or a line of JSON) for each interval. It reports a daemon that
// is gone, and looks for it again.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

#include "bodhi/common/units.h"
#include "tools/cluster/every_node.h"
#include "tools/commands/activity.h"
#include "tools/commands/commands.h"
#include "tools/commands/live_screen.h"
#include "tools/support/interruption.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kTimeoutMs = 1'000;
constexpr std::uint64_t kShortestMs = 100, kLongestMs = 3'600'000;
constexpr std::size_t kBarWidth = 30;

// One look: the daemon's status, or the reason why there is none.
struct Look {
  Clock::time_point at = Clock::now();
  std::optional<Json> status;
  std::string reason;
};

class Watch {
 public:
  explicit Watch(std::string runtime) : runtime_(std::move(runtime)) {}

  Look look() {
    Look look;
    Result<std::string> text = ask();
    if (!text) {
      client_.reset();
      look.reason = other_table_version(runtime_.c_str()) != 0
                        ? "its zazend is of another version of Zazen"
                        : std::string("no daemon answers: ") + std::strerror(text.error().code);
      return look;
    }
    Json parsed = Json::parse(*text, nullptr, false);
    if (parsed.is_object()) {
      look.status = std::move(parsed);
    } else {
      look.reason = "the daemon's answer is not understood";
    }
    return look;
  }

 private:
  Result<std::string> ask() {
    if (!client_) {
      Result<Client> client = Client::connect(runtime_, kTimeoutMs);
      if (!client) return client.error();
      client_.emplace(std::move(*client));
    }
    return client_->status();
  }

  const std::string runtime_;
  std::optional<Client> client_;
};

std::string percent(const OpenCounts& counts) {
  std::optional<double> rate = counts.hit_rate();
  return rate ? fmt::format("{:.1f}%", *rate * 100.0) : "-";
}

std::uint64_t per_second(std::uint64_t count, double seconds) {
  return seconds <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(count) / seconds);
}

std::string capacity_line(const Json& status) {
  std::uint64_t used = status.at("used_bytes"), capacity = status.at("capacity_bytes");
  std::string frames = plural(status.at("used_files"), "frame");
  if (capacity == 0) return fmt::format("cache     {}   {}", format_size(used), frames);
  double part = std::min(1.0, static_cast<double>(used) / static_cast<double>(capacity));
  auto full = static_cast<std::size_t>(part * static_cast<double>(kBarWidth) + 0.5);
  return fmt::format("cache     [{}{}] {} of {} ({:.0f}%)   {}", std::string(full, '#'),
                     std::string(kBarWidth - full, '.'), format_size(used),
                     format_size(capacity), part * 100.0, frames);
}

std::string clock_text() {
  std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  return fmt::format("{:%H:%M:%S}", local);
}

std::vector<std::string> screen(const Json& status, const Activity& activity,
                                std::size_t columns) {
  bool healthy = status.at("healthy");
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "zazend {} on {}: {}, up {}   {}", status.at("version").get<std::string>(),
      printable(status.at("node")),
      healthy ? coloured("healthy", Colour::kGood) : coloured("not healthy", Colour::kBad),
      format_duration(status.at("uptime_seconds").get<std::uint64_t>()), clock_text()));
  for (const Json& problem : status.at("problems")) {
    lines.push_back(coloured("problem", Colour::kBad) + "   " +
                    printable(problem.get<std::string>()));
  }
  lines.push_back(capacity_line(status));
  lines.push_back(
      fmt::format("opens     {} from cache   {}   {} misses   {}", percent(activity),
                  plural(activity.hits, "hit"), format_count(activity.misses),
                  activity.since_start ? "(since it started)"
                                       : fmt::format("(in {:.1f} s)", activity.seconds)));
  lines.push_back(fmt::format(
      "copying   {} under way   {} fetched   {} pushed   {} ({}/s)   {} failed   {}",
      format_count(activity.fills_under_way), format_count(activity.fills),
      format_count(activity.pushes), format_size(activity.copied_bytes),
      format_size(per_second(activity.copied_bytes, activity.seconds)),
      format_count(activity.fills_failed), plural(activity.evictions, "eviction")));
  lines.emplace_back();

  TextTable table({">OPENS/S", ">FROM CACHE", ">HITS", ">MISSES", ">PUSHED", ">FETCHED",
                   ">BYTES", "DATASET"});
  for (const DatasetActivity& dataset : activity.datasets) {
    table.add({format_count(per_second(dataset.opens(), activity.seconds)), percent(dataset),
               format_count(dataset.hits), format_count(dataset.misses),
               format_count(dataset.native), format_count(dataset.alien),
               format_size(dataset.bytes), printable(dataset.path)});
  }
  for (std::string& line : table.lines(columns)) lines.push_back(std::move(line));
  return lines;
}

Json json_of(const OpenCounts& counts) {
  std::optional<double> rate = counts.hit_rate();
  return {{"hits", counts.hits},
          {"misses", counts.misses},
          {"hit_rate", rate ? Json(*rate) : Json()}};
}

Json json_of(const Json& status, const Activity& activity) {
  Json object = {{"time", std::time(nullptr)},
                 {"node", status.at("node")},
                 {"answers", true},
                 {"healthy", status.at("healthy")},
                 {"since_start", activity.since_start},
                 {"seconds", activity.seconds},
                 {"capacity_bytes", status.at("capacity_bytes")},
                 {"used_bytes", status.at("used_bytes")},
                 {"used_files", status.at("used_files")}};
  object.update(json_of(static_cast<const OpenCounts&>(activity)));
  object.update({{"fills", activity.fills},
                 {"pushes", activity.pushes},
                 {"fills_failed", activity.fills_failed},
                 {"fills_under_way", activity.fills_under_way},
                 {"copied_bytes", activity.copied_bytes},
                 {"evictions", activity.evictions},
                 {"datasets", Json::array()}});
  for (const DatasetActivity& dataset : activity.datasets) {
    Json one = {{"path", dataset.path}};
    one.update(json_of(static_cast<const OpenCounts&>(dataset)));
    one.update(
        {{"native", dataset.native}, {"alien", dataset.alien}, {"bytes", dataset.bytes}});
    object["datasets"].push_back(std::move(one));
  }
  return object;
}

void show(const Node& node, const LiveScreen& live, bool json, const Look& before,
          const Look& now) {
  std::vector<std::string> lines;
  if (!now.status) {
    if (json) {
      lines = {json_line({{"time", std::time(nullptr)},
                          {"node", node.config.node},
                          {"answers", false},
                          {"reason", now.reason}})};
    } else {
      lines = {coloured(now.reason, Colour::kBad) + "   " + clock_text(),
               printable(node.runtime)};
    }
  } else {
    double seconds = std::chrono::duration<double>(now.at - before.at).count();
    Activity activity =
        activity_between(before.status ? &*before.status : nullptr, *now.status, seconds);
    lines = json ? std::vector{json_line(json_of(*now.status, activity))}
                 : screen(*now.status, activity, terminal_columns(STDOUT_FILENO));
  }
  if (live.active()) return live.draw(lines);
  for (const std::string& line : lines) json ? fmt::print("{}\n", line) : print_text(line);
  if (!json) fmt::print("\n");
  std::fflush(stdout);
}

// One line for each node; a node that does not answer has its reason instead of figures.
std::vector<std::string> lines_of(const std::vector<NodeAnswer>& before,
                                  const std::vector<NodeAnswer>& now, double seconds,
                                  std::size_t columns, Json* objects) {
  TextTable table(
      {"NODE", ">OPENS/S", ">FROM CACHE", ">HITS", ">MISSES", ">COPYING", ">COPIED"});
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string name = printable(now[i].node.name);
    Json object = {{"node", now[i].node.name}, {"peer", now[i].node.peer}, {"answers", false}};
    if (!now[i].is_fine()) {
      table.add({name, "-", "-", "-", "-", "-", "-"});
      reasons.push_back(printable(now[i].node.name + ": " + now[i].failure));
      object["reason"] = now[i].failure;
    } else {
      const Activity activity = activity_between(
          before[i].is_fine() ? &before[i].figures : nullptr, now[i].figures, seconds);
      table.add({name, format_count(per_second(activity.opens(), activity.seconds)),
                 percent(activity), format_count(activity.hits), format_count(activity.misses),
                 format_count(activity.fills_under_way), format_size(activity.copied_bytes)});
      object.update(json_of(now[i].figures, activity));
      object["node"] = now[i].node.name;
    }
    objects->push_back(std::move(object));
  }
  std::vector<std::string> lines = table.lines(columns);
  lines.insert(lines.begin(), plural(now.size(), "node") + "   " + clock_text());
  lines.insert(lines.end(), reasons.begin(), reasons.end());
  return lines;
}

int top_of_nodes(const TopOptions& options, const Node& node, std::uint64_t interval_ms) {
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  const auto look = [&nodes] {
    return nodes.ask(
        EveryNode::Limit::kOverall, [](Client& client, std::size_t) -> Result<Json> {
          Result<std::string> text = client.status();
          if (!text) return text.error();
          Json status = Json::parse(*text);
          json_of(status, activity_between(nullptr, status, 1));  // what is shown is there
          return status;
        });
  };
  Interruption interruption;
  auto before = look();
  auto looked_at = Clock::now();
  LiveScreen live(!options.json && !options.once);
  while (!live.wait(interval_ms) && !Interruption::wanted()) {
    auto now = look();
    const double seconds =
        std::chrono::duration<double>(Clock::now() - std::exchange(looked_at, Clock::now()))
            .count();
    Json objects = Json::array();
    const std::vector<std::string> lines =
        lines_of(before, now, seconds, terminal_columns(STDOUT_FILENO), &objects);
    if (options.json) {
      fmt::print("{}\n", json_line({{"time", std::time(nullptr)}, {"nodes", objects}}));
    } else if (live.active()) {
      live.draw(lines);
    } else {
      fmt::print("{}\n\n", fmt::join(lines, "\n"));
    }
    std::fflush(stdout);
    if (options.once) return nodes.end(EveryNode::outcome(now));
    before = std::move(now);
  }
  return nodes.end(kDone);
}

}  // namespace

int top_command(const TopOptions& options) {
  Result<std::uint64_t> interval_ms = parse_time_ms(options.interval);
  if (!interval_ms || *interval_ms < kShortestMs || *interval_ms > kLongestMs) {
    print_error(options.interval + ": not an interval between 100ms and 1h",
                "for example --interval 2s");
    return kUsage;
  }
  Node node = load_node_or_exit(options.config, kUsage);
  if (options.nodes.is_given()) return top_of_nodes(options, node, *interval_ms);
  Watch watch(node.runtime);
  Interruption interruption;
  try {
    Look before = watch.look();
    if (options.once && !before.status) {
      if (options.json) show(node, LiveScreen(false), true, {}, before);
      print_error(node.runtime + ": " + before.reason,
                  "start it with: zazenctl --config " + node.config.file + " start");
      return kNoDaemon;
    }
    LiveScreen live(!options.json && !options.once);
    if (live.active() || !before.status) show(node, live, options.json, {}, before);
    while (!live.wait(*interval_ms) && !Interruption::wanted()) {
      Look now = watch.look();
      show(node, live, options.json, before, now);
      if (options.once) return now.status ? kDone : kNoDaemon;
      before = std::move(now);
    }
    return kDone;
  } catch (const Json::exception& error) {
    print_error(node.runtime + ": the daemon's answer is not understood: " + error.what(),
                "are zazend and zazenctl of the same version?");
    return kFailed;
  }
}

}  // namespace zazen
