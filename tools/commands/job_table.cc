#include "tools/commands/job_table.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/lean/run/run_summary.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr std::size_t kColumns = 80;  // where there is no terminal
constexpr std::int64_t kNanoseconds = 1'000'000'000;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNanoseconds);
}

std::uint64_t bytes_of(const RunFigures& figures) {
  return figures.bytes_local + figures.bytes_origin;
}

// Bytes in a second; nothing if unknown.
std::optional<std::uint64_t> rate_of(const JobRecord& job, const RunFigures& figures) {
  const std::optional<std::int64_t> duration = job.duration_ns();
  if (!duration || *duration <= 0 || bytes_of(figures) == 0) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<double>(bytes_of(figures)) /
                                    seconds(*duration));
}

std::string rate_words(const std::optional<std::uint64_t>& rate) {
  return rate ? format_size(*rate) + "/s" : "-";
}

std::string frames_words(const RunFigures& figures) {
  return (figures.is_whole ? "" : ">=") + format_count(figures.frames);
}

std::string share_words(const RunFigures& figures) {
  if (figures.opens() == 0) return "-";
  return std::to_string(percent_of(figures.hits, figures.opens())) + "%";
}

std::string time_words(const JobRecord& job) {
  if (job.life() == Life::kRuns) return "runs";
  if (job.life() == Life::kUnknown) return "not known";
  const std::optional<std::int64_t> duration = job.duration_ns();
  if (!duration) return "-";
  return duration_words(*duration);
}

// A problem that the list must show; "" if there is none.
std::string remark_on(const JobRecord& job) {
  if (job.life() != Life::kOver) return "";
  if (!job.ended_in_order()) return "not in order";
  if (job.is_divided() && !audit_of(job).audit.exactly_once) return "see its report";
  return "";
}

std::string without_directory(std::string command) {
  const std::size_t slash = command.rfind('/', command.find(' '));
  return slash == std::string::npos ? command : command.substr(slash + 1);
}

}  // namespace

nlohmann::ordered_json json_of(const std::vector<OtherCalls>& others) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const OtherCalls& other : others) {
    list.push_back({{"dataset", other.dataset},
                    {"pattern", other.pattern},
                    {"reads", other.reads},
                    {"writes", other.writes},
                    {"stats", other.stats},
                    {"open_seconds", other.open_seconds},
                    {"stat_seconds", other.stat_seconds}});
  }
  return list;
}

namespace {

nlohmann::ordered_json json_of(const JobRecord& job) {
  const RunFigures figures = job.figures();
  const std::optional<std::int64_t> duration = job.duration_ns();
  const std::optional<std::uint64_t> rate = rate_of(job, figures);
  nlohmann::ordered_json running;  // null: not known
  if (job.life() != Life::kUnknown) running = job.life() == Life::kRuns;
  nlohmann::ordered_json json = {
      {"job", job.number()},
      {"command", job.command()},
      {"started_at", job.started_ns() / kNanoseconds},
      {"running", running},
      {"duration_seconds", duration ? nlohmann::ordered_json(seconds(*duration)) : nullptr},
      {"ranks", job.rank_count()},
      {"nodes", job.node_count()},
      {"ended_in_order", job.ended_in_order()},
      {"frames_read", figures.frames},
      {"frames_counted_whole", figures.is_whole},
      {"opens", figures.opens()},
      {"hits", figures.hits},
      {"misses", figures.misses},
      {"bytes_local", figures.bytes_local},
      {"bytes_origin", figures.bytes_origin},
      {"bytes_per_second", rate ? nlohmann::ordered_json(*rate) : nullptr},
      {"divided", job.is_divided()}};
  json["other_files"] = json_of(other_calls(job));
  if (job.is_divided()) {
    const Audit audit = audit_of(job).audit;
    json["ranks_known"] = job.count();
    json["frames_listed"] = audit.frames_listed;
    json["exactly_once"] = audit.exactly_once;
  }
  return json;
}

// "4.1 times faster", "the same", "1.3 times slower": the second against the first.
std::string faster_words(double first, double second) {
  if (first <= 0 || second <= 0) return "";
  const double factor = std::max(first, second) / std::min(first, second);
  if (factor < 1.05) return "about the same";
  return fmt::format("{:.1f} times {}", factor, second < first ? "faster" : "slower");
}

}  // namespace

std::string duration_words(std::int64_t ns) {
  char text[32];
  return {text, write_duration(ns, text, sizeof text)};
}

std::string began_words(std::int64_t ns, const char* format) {
  std::time_t time = ns / kNanoseconds;
  std::tm local = {};
  ::localtime_r(&time, &local);
  return fmt::format(fmt::runtime(format), local);
}

void print_other_calls(const std::vector<OtherCalls>& others) {
  if (others.empty()) return;
  fmt::print("\nBeside the frames, at the origin:\n");
  TextTable table({">TO READ", ">TO WRITE", ">OPENS TOOK", ">STATS", ">TOOK", "NAMES"});
  auto words = [](double taken) {
    return duration_words(static_cast<std::int64_t>(taken * static_cast<double>(kNanoseconds)));
  };
  for (const OtherCalls& other : others) {
    const std::string name =
        other.dataset.empty() ? other.pattern : other.dataset + "/" + other.pattern;
    table.add({format_count(other.reads), format_count(other.writes), words(other.open_seconds),
               format_count(other.stats), words(other.stat_seconds), printable(name)});
  }
  table.print();
}

void print_job_list(const std::vector<JobRecord>& jobs, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const JobRecord& job : jobs) list.push_back(json_of(job));
    return print_json({{"jobs", list}});
  }
  if (jobs.empty()) {
    print_line("No job of yours ended on this node in the last days: zazenctl run starts one.");
    return;
  }
  TextTable table({"JOB", "BEGAN", ">RANKS", ">FRAMES", ">TIME", ">RATE", ">LOCAL", "COMMAND"});
  for (const JobRecord& job : jobs) {
    const RunFigures figures = job.figures();
    table.add({job.number().substr(0, kNumberShown),
               began_words(job.started_ns(), "{:%m-%d %H:%M}"),
               job.rank_count() == 0 ? "-" : std::to_string(job.rank_count()),
               frames_words(figures), time_words(job), rate_words(rate_of(job, figures)),
               share_words(figures), without_directory(printable(job.command()))});
  }
  // A command may have a thousand words, also for a pipe.
  const std::size_t columns = terminal_columns(STDOUT_FILENO);
  for (const std::string& line : table.lines(columns == kNoLimit ? kColumns : columns)) {
    print_text(line);
  }
  for (const JobRecord& job : jobs) {
    if (remark_on(job).empty()) continue;
    print_line("{}: {}", job.number().substr(0, kNumberShown), remark_on(job));
  }
}

void print_comparison(const JobRecord& first, const JobRecord& second, bool as_json) {
  const std::optional<std::int64_t> before = first.duration_ns(), after = second.duration_ns();
  if (as_json) {
    nlohmann::ordered_json ratio;  // null: not known
    if (before && after && *after > 0) ratio = seconds(*before) / seconds(*after);
    return print_json({{"jobs", {json_of(first), json_of(second)}}, {"times_faster", ratio}});
  }
  TextTable table({"", ">" + first.number().substr(0, kNumberShown),
                   ">" + second.number().substr(0, kNumberShown), ""});
  const RunFigures a = first.figures(), b = second.figures();
  const auto rate_a = rate_of(first, a), rate_b = rate_of(second, b);
  auto began = [](const JobRecord& job) {
    return began_words(job.started_ns(), "{:%m-%d %H:%M:%S}");
  };
  table.add({"began", began(first), began(second), ""});
  table.add({"duration", time_words(first), time_words(second),
             before && after ? faster_words(seconds(*before), seconds(*after)) : ""});
  table.add({"frames", frames_words(a), frames_words(b), ""});
  table.add({"opens", format_count(a.opens()), format_count(b.opens()), ""});
  table.add({"bytes", format_size(bytes_of(a)), format_size(bytes_of(b)), ""});
  table.add({"rate", rate_words(rate_a), rate_words(rate_b), ""});
  table.add({"from the cache", share_words(a), share_words(b), ""});
  table.add({"ranks", first.rank_count() == 0 ? "-" : std::to_string(first.rank_count()),
             second.rank_count() == 0 ? "-" : std::to_string(second.rank_count()), ""});
  table.print();
  const std::string command = printable(first.command()), other = printable(second.command());
  print_text("");
  if (command == other) {
    print_line("both: {}", command);
  } else {
    print_line("{}: {}", first.number().substr(0, kNumberShown), command);
    print_line("{}: {}", second.number().substr(0, kNumberShown), other);
  }
}

}  // namespace zazen
