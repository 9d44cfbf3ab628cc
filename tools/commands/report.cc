// zazenctl report: lists the recent jobs of this node, and shows two of them side by side
// (job_table.h). Of one job it tells how long it took, which frames were listed, read, read
// twice and never read, and by which ranks. It also tells which rank ended without a word, and
// what to do about it. It needs no MPI_Finalize and no running daemon: it reads the files of
// the processes (job_record.h).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bodhi/common/units.h"
#include "bodhi/lean/run/run_summary.h"
#include "coord/audit/audit.h"
#include "tools/commands/commands.h"
#include "tools/commands/job_findings.h"
#include "tools/commands/job_page.h"
#include "tools/commands/job_record.h"
#include "tools/commands/job_table.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"
#include "tools/web/page.h"

namespace zazen {
namespace {

constexpr OtherReport kNoOther = {};

void print_datasets(const JobRecord& job, const JobAudit& audited) {
  if (audited.audit.datasets.empty()) {
    print_line("No rank listed or read a dataset that was divided among the ranks.");
  }
  for (const DatasetAudit& dataset : audited.audit.datasets) {
    // A rank without a record may have read frames that the others did not.
    const bool is_known = audited.audit.ranks_missing == 0;
    print_line("{}: {} listed, {} read, {} of them by several ranks, {} never read",
               printable(dataset.path), plural(dataset.listed, "frame"),
               format_count(dataset.read), format_count(dataset.read_twice),
               is_known ? format_count(dataset.never_read) : "not known how many");
    std::string frames = template_of(job, dataset.path);
    for (const Lost& lost : lost_frames(audited, dataset.path)) {
      print_line("  never read: {} of rank {}: {}", plural(lost.frames.size(), "frame"),
                 lost.rank, frame_words(frames, lost.frames));
    }
    for (std::size_t r = 0; r < audited.fragments.size(); ++r) {
      if (!audited.fragments[r]) continue;
      for (const DatasetFragment& part : audited.fragments[r]->datasets) {
        if (part.path != dataset.path || part.read_others.empty()) continue;
        print_line("  rank {} read {} of other ranks: {}", r,
                   plural(part.read_others.size(), "frame"),
                   frame_words(frames, part.read_others));
      }
    }
  }
}

void print_ranks(const JobRecord& job, const Audit& audit) {
  TextTable table({">RANK", "NODE", ">ASSIGNED", ">READ", ">HITS", ">MISSES", "ENDED"});
  for (std::size_t r = 0; r < audit.by_rank.size(); ++r) {
    const RankReport& rank = audit.by_rank[r];
    auto figure = [&](std::uint64_t value) {
      return rank.reported ? format_count(value) : std::string("-");
    };
    table.add({std::to_string(r), rank.node[0] == '\0' ? "-" : printable(rank.node),
               figure(rank.assigned), figure(rank.read), figure(rank.hits), figure(rank.misses),
               ending_words(job.ranks[r].get())});
  }
  table.print();
}

// Opens, bytes and time, as far as they are known.
void print_figures(const JobRecord& job) {
  const RunFigures figures = job.figures();
  const char* place = job.node_count() > 1 ? "the nodes' caches" : "this node's cache";
  print_line("{}{}, {} opened: {} times from {} ({}), {} times from the origin ({})",
             figures.is_whole ? "" : "at least ", plural(figures.frames, "frame"),
             format_size(figures.bytes_local + figures.bytes_origin),
             format_count(figures.hits), place, format_size(figures.bytes_local),
             format_count(figures.misses), format_size(figures.bytes_origin));
  const std::optional<std::int64_t> duration = job.duration_ns();
  if (!duration) return;
  fmt::print("{}{}", job.ended_in_order() ? "it took " : "its last process was seen after ",
             duration_words(*duration));
  const EarlierRun* earlier = earlier_run(job);
  if (earlier != nullptr) {
    fmt::print("; the same command before: {}, {}% from the cache",
               duration_words(earlier->duration_ns), percent_of(earlier->hits, earlier->opens));
  }
  fmt::print("\n");
}

void print_job(const JobRecord& job) {
  const std::string who =
      job.rank_count() == 0
          ? ""
          : fmt::format("   {} on {}", plural(job.rank_count(), "rank"),
                        plural(static_cast<std::uint64_t>(job.node_count()), "node"));
  print_line("job {}{}   began {}   {}", job.number().substr(0, kNumberShown), who,
             began_words(job.started_ns(), "{:%Y-%m-%d %H:%M:%S}"), life_words(job.life()));
  print_text(printable(job.command()));
  print_text("");
  if (!job.is_divided()) {
    for (const auto& [path, frames] : opened_frames(job)) {
      print_line("{}: {} opened", printable(path), plural(frames.size(), "frame"));
    }
    print_figures(job);
    print_other_calls(other_calls(job));
    if (job.life() == Life::kOver && !job.ended_in_order()) {
      print_line("Its first process ended without a word: it crashed, or it was killed.");
    }
    return;
  }
  JobAudit audited = audit_of(job);
  print_datasets(job, audited);
  print_figures(job);
  print_other_calls(other_calls(job));
  fmt::print("\n");
  print_ranks(job, audited.audit);
  fmt::print("\n");
  for (const std::string& line : advice_on(job, audited).lines) print_text(line);
}

// The figures of a job that was not divided.
JobReport report_of(const JobRecord& job) {
  const RunFigures figures = job.figures();
  JobReport report = {};
  report.complete = figures.is_whole;
  report.frames_listed = figures.frames;
  report.frames_read = figures.frames;
  report.frames_arrived_later = -1;
  report.hits = figures.hits;
  report.misses = figures.misses;
  report.bytes_local = figures.bytes_local;
  report.bytes_origin = figures.bytes_origin;
  report.nodes = job.node_count();
  report.ranks = std::max(1, static_cast<int>(job.rank_count()));
  report.reason = "the frames were not divided";
  return report;
}

int print_report_json(const JobRecord& job, JobReport report) {
  const std::optional<std::int64_t> duration = job.duration_ns();
  report.duration_seconds = duration ? static_cast<double>(*duration) / 1e9 : -1;
  const std::vector<OtherCalls> found = other_calls(job);
  std::vector<OtherReport> others;
  for (const OtherCalls& one : found) {
    others.push_back({one.dataset.c_str(), one.pattern.c_str(), one.reads, one.writes,
                      one.stats, one.open_seconds, one.stat_seconds});
  }
  if (!job.runs.empty()) {
    report.others = others.empty() ? &kNoOther : others.data();
    report.other_count = others.size();
  }
  int code = write_report_to(STDOUT_FILENO, report);
  if (code != 0) print_error(std::string("standard output: ") + std::strerror(code));
  return code == 0 ? kDone : kFailed;
}

int print_job_json(const JobRecord& job) {
  if (!job.is_divided()) return print_report_json(job, report_of(job));
  JobAudit audited = audit_of(job);
  double& seconds = audited.audit.protocol_seconds;
  for (const auto& rank : job.ranks) {
    if (rank != nullptr) seconds = std::max(seconds, rank->protocol_seconds());
  }
  return print_report_json(job, audited.audit);
}

// One file with everything in it, which appears as a whole.
int write_report_page(const std::string& file, const JobRecord& job,
                      const std::vector<JobRecord>& all) {
  Html html;
  html.element("main", {}, [&] { write_job(html, job, all); });
  html.element("footer", {},
               fmt::format("Written by zazenctl {} at {}.", ZAZEN_VERSION,
                           began_words(wall_clock_ns(), "{:%Y-%m-%d %H:%M:%S}")));
  const std::string page =
      whole_page("Zazen: job " + job.number().substr(0, kNumberShown), html);
  if (file == "-") {
    const bool is_out = std::fwrite(page.data(), 1, page.size(), stdout) == page.size() &&
                        std::fflush(stdout) == 0;
    if (!is_out) print_error(std::string("standard output: ") + std::strerror(errno));
    return is_out ? kDone : kFailed;
  }
  if (int code = write_text(file.c_str(), page.data(), page.size()); code != 0) {
    print_error(file + ": " + std::strerror(code), "name a file in a directory of yours");
    return kFailed;
  }
  return kDone;
}

}  // namespace

int report_command(const ReportOptions& given) {
  ReportOptions options = given;
  if (!options.html.empty()) {
    if (options.json || options.jobs.size() > 1) {
      print_error("--html: it writes a page of one job",
                  "zazenctl report --html job.html last");
      return kUsage;
    }
    if (options.jobs.empty()) options.jobs.push_back("last");
  }
  Node node = load_node_or_exit(options.config, kUsage);
  std::vector<JobRecord> jobs = jobs_of(node, options.from);
  if (options.jobs.empty()) {
    print_job_list(jobs, options.json);
    return kDone;
  }

  std::vector<const JobRecord*> chosen;
  for (const std::string& wanted : options.jobs) {
    auto matches = [&](const JobRecord& job) {
      return wanted == "last" || job.number().starts_with(wanted);
    };
    auto found = std::ranges::find_if(jobs, matches);
    if (wanted.empty() || found == jobs.end()) {
      print_error(wanted + ": no such job here", "zazenctl report lists those that are known");
      return kFailed;
    }
    if (wanted != "last" && std::ranges::count_if(jobs, matches) > 1) {
      print_error(wanted + ": several jobs begin so", "take more of its digits");
      return kUsage;
    }
    chosen.push_back(&*found);
  }
  if (!options.html.empty()) return write_report_page(options.html, *chosen.front(), jobs);
  if (chosen.size() == 2) {
    print_comparison(*chosen[0], *chosen[1], options.json);
    return kDone;
  }
  int outcome = kDone;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (options.json) {
      outcome = std::max(outcome, print_job_json(*chosen[i]));
      continue;
    }
    if (i > 0) fmt::print("\n");
    print_job(*chosen[i]);
  }
  return outcome;
}

}  // namespace zazen
