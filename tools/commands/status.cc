// zazenctl status: one screen; its first line says whether the node is healthy.
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/node/prometheus_text.h"
#include "tools/cluster/every_node.h"
#include "tools/commands/commands.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/read_order_words.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

using Json = nlohmann::ordered_json;

std::string size_text(std::uint64_t bytes, bool exact) {
  return exact ? std::to_string(bytes) : format_size(bytes);
}

std::string cache_line(const Json& status, bool exact) {
  std::uint64_t used = status.at("used_bytes"), capacity = status.at("capacity_bytes");
  const std::string path =
      shortened(printable(status.at("cache")), terminal_columns(STDOUT_FILENO) / 2);
  std::string line = fmt::format("cache     {}   {}", path, size_text(used, exact));
  if (capacity > 0) {
    auto percent = static_cast<double>(used) / static_cast<double>(capacity) * 100.0;
    line += fmt::format(" of {} ({:.0f}%)", size_text(capacity, exact), percent);
  }
  return line + "   " + plural(status.at("used_files"), "frame");
}

std::string traffic_line(const Json& status) {
  std::uint64_t hits = status.at("hits"), misses = status.at("misses");
  std::string line = fmt::format("opens     {}   {}", plural(hits, "hit"),
                                 format_count(misses) + (misses == 1 ? " miss" : " misses"));
  if (hits + misses > 0) {
    line += fmt::format("   {:.1f}% from cache",
                        static_cast<double>(hits) / static_cast<double>(hits + misses) * 100.0);
  }
  return line + "   " + plural(status.at("evictions"), "eviction") + "   (since it started)";
}

void print_problems(const Json& status, const char* key = "problems",
                    const char* word = "problem") {
  for (const Json& problem : status.at(key)) {
    print_line("{}   {}", coloured(word, Colour::kBad), printable(problem.get<std::string>()));
  }
}

// Peers that cannot be told of changed frames at the moment.
void print_peers(const Json& status) {
  for (const Json& peer : status.at("changes").at("peers")) {
    if (peer.at("failure").is_null()) continue;
    print_line("not told  {}: {}   {} waiting", printable(peer.at("peer")),
               printable(peer.at("failure")), plural(peer.at("waiting"), "notice"));
  }
}

// While a replaced key is still accepted.
void print_old_key(const Json& status) {
  const Json& network = status.at("network");
  const Json old_key = network.is_null() ? Json() : network.value("old_key_until", Json());
  if (old_key.is_null()) return;
  const auto until = old_key.get<std::time_t>();
  print_line("old key   taken until {:%F %T}", fmt::localtime(until));
}

void print_screen(const Json& status, bool exact) {
  std::size_t problems = status.at("problems").size();
  bool healthy = status.at("healthy");
  std::string health =
      healthy         ? coloured("healthy", Colour::kGood)
      : problems == 0 ? coloured("not healthy", Colour::kBad)
                      : coloured("not healthy, " + plural(problems, "problem"), Colour::kBad);
  print_line("zazend {} on {}: {}, up {}", status.at("version").get<std::string>(),
             printable(status.at("node")), health,
             format_duration(status.at("uptime_seconds").get<std::uint64_t>()));
  print_problems(status);
  print_problems(status, "warnings", "warning");
  if (!status.at("reconciled").get<bool>()) {
    print_line(
        "starting  after an unclean stop the copies are being gone through; "
        "the figures are not complete yet");
  }
  print_peers(status);
  print_old_key(status);
  print_text(cache_line(status, exact));
  print_text(traffic_line(status));
  print_line("reads     {}", read_order_words(status.at("read_order")));
  print_text("");

  TextTable table({"DATASET", ">PUSHED", ">FETCHED", ">BYTES", ">PINNED"});
  for (const Json& dataset : status.at("datasets")) {
    table.add({printable(dataset.at("path")), format_count(dataset.at("native")),
               format_count(dataset.at("alien")), size_text(dataset.at("bytes"), exact),
               format_count(dataset.at("pinned"))});
  }
  table.print();
}

bool is_unhealthy(const Json& status) {
  return !status.at("healthy").get<bool>() || !status.at("problems").empty();
}

// Without colour, which would count as width.
std::string state_of(const Json& status) {
  const std::size_t problems = status.at("problems").size();
  if (problems > 0) return plural(problems, "problem");
  return is_unhealthy(status) ? "not healthy" : "healthy";
}

std::vector<std::string> node_row(const NodeAnswer& answer, bool exact) {
  const std::string name = printable(answer.node.name);
  if (!answer.is_fine()) {
    return {name, answer.is_silent ? "no answer" : "refused", "-", "-", "-", "-", "-"};
  }
  const Json& status = answer.figures.at("status");
  const std::uint64_t used = status.at("used_bytes"), capacity = status.at("capacity_bytes");
  const std::uint64_t hits = status.at("hits"),
                      opens = hits + status.at("misses").get<std::uint64_t>();
  const auto percent = [](std::uint64_t part, std::uint64_t whole, int digits) {
    if (whole == 0) return std::string("-");
    return fmt::format("{:.{}f}%", static_cast<double>(part) / static_cast<double>(whole) * 100,
                       digits);
  };
  return {name,
          state_of(status),
          format_duration(status.at("uptime_seconds").get<std::uint64_t>()),
          size_text(used, exact),
          percent(used, capacity, 0),
          format_count(status.at("used_files")),
          percent(hits, opens, 1)};
}

// "40 nodes: 38 healthy, 1 with problems, 1 does not answer"
std::string count_states(const std::vector<NodeAnswer>& answers) {
  std::uint64_t healthy = 0, silent = 0, refused = 0;
  for (const NodeAnswer& answer : answers) {
    if (answer.is_silent) {
      ++silent;
    } else if (!answer.is_fine()) {
      ++refused;
    } else if (!is_unhealthy(answer.figures.at("status"))) {
      ++healthy;
    }
  }
  const std::uint64_t with_problems = answers.size() - healthy - silent - refused;
  std::string line = plural(answers.size(), "node") + ": " + format_count(healthy) + " healthy";
  if (with_problems > 0) line += ", " + format_count(with_problems) + " with problems";
  if (refused > 0) line += ", " + format_count(refused) + " refused";
  if (silent > 0)
    line += ", " + format_count(silent) + (silent == 1 ? " does" : " do") + " not answer";
  return line;
}

// On standard output: with -x they are the result.
void print_node_problems(const std::vector<NodeAnswer>& answers) {
  for (const NodeAnswer& answer : answers) {
    const std::string name = printable(answer.node.name);
    if (!answer.is_fine()) print_line("{}: {}", name, printable(answer.failure));
    if (!answer.is_fine()) continue;
    const Json& status = answer.figures.at("status");
    for (const Json& problem : status.at("problems")) {
      print_line("{}: {}", name, printable(problem.get<std::string>()));
    }
    if (status.at("problems").empty() && is_unhealthy(status))
      print_line("{}: not healthy", name);
  }
}

int status_of_nodes(const StatusOptions& options) {
  if (options.prometheus) {
    return usage_error(
        {EINVAL, "--prometheus: of this node only", "leave out --nodes and --all"});
  }
  Node node = load_node_or_exit(options.config, kUsage);
  EveryNode nodes = EveryNode::load_or_exit(node.config, options.nodes);
  const bool only_problems = options.problems_only;
  const std::vector<NodeAnswer> answers =
      nodes.ask(EveryNode::Limit::kOverall, [](Client& client, std::size_t) -> Result<Json> {
        Result<std::string> text = client.status();
        if (!text) return text.error();
        const Json status = Json::parse(*text);
        // Throws if a figure is missing: then this is no answer.
        node_row({{}, {{"status", status}}, {}, false}, false);
        return Json{{"status", status}};
      });
  int outcome = EveryNode::outcome(answers);
  const bool has_problem = std::ranges::any_of(answers, [](const NodeAnswer& answer) {
    return !answer.is_fine() || is_unhealthy(answer.figures.at("status"));
  });
  if (options.json) {
    print_nodes_json(answers);
  } else if (!only_problems) {
    TextTable table({"NODE", "STATE", ">UP", ">USED", ">FULL", ">FRAMES", ">HITS"});
    for (const NodeAnswer& answer : answers) table.add(node_row(answer, options.exact_bytes));
    fmt::print("{}\n\n", count_states(answers));
    table.print();
    if (has_problem) fmt::print("\n");
  }
  if (!options.json) print_node_problems(answers);
  if (only_problems && has_problem && outcome != kNoDaemon) outcome = kUnhealthy;
  return nodes.end(outcome);
}

}  // namespace

int status_command(const StatusOptions& options) {
  if (options.nodes.is_given()) return status_of_nodes(options);
  Node node = find_node_or_exit(options.config);
  Client client = connect_or_exit(node);
  Result<std::string> text = client.status();
  if (!text) return request_failed(node, node.runtime, text.error());

  try {
    Json status = Json::parse(*text);
    const bool unhealthy = is_unhealthy(status);
    if (options.prometheus) {
      fmt::print("{}", prometheus_text(status));
    } else if (options.json && options.problems_only) {
      print_json({{"healthy", !unhealthy}, {"problems", status.at("problems")}});
    } else if (options.json) {
      print_json(status);
    } else if (options.problems_only) {
      print_problems(status);
    } else {
      print_screen(status, options.exact_bytes);
    }
    return options.problems_only && unhealthy ? kUnhealthy : kDone;
  } catch (const Json::exception& error) {
    print_error(node.runtime + ": the daemon's answer is not understood: " + error.what(),
                "are zazend and zazenctl of the same version?");
    return kFailed;
  }
}

}  // namespace zazen
