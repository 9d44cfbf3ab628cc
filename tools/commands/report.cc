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
#include "tools/commands/job_record.h"
#include "tools/commands/job_table.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/support/terminal.h"

namespace zazen {
namespace {

constexpr std::size_t kMostRunsShown = 6;
constexpr OtherReport kNoOther = {};

// "3", "3 and 7", "0-5, 8 and 9"
std::string numbers(const std::vector<std::size_t>& sorted) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end + 1 < sorted.size() && sorted[end + 1] == sorted[end] + 1) ++end;
    if (end > i + 1) {
      parts.push_back(fmt::format("{}-{}", sorted[i], sorted[end]));
      i = end + 1;
    } else {
      parts.push_back(std::to_string(sorted[i++]));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text;
}

std::string rank_words(const std::vector<std::size_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + numbers(ranks);
}

// The frames by name, as runs: "f3, f7 to f9".
std::string frame_words(const std::string& frames, const FrameSet& set) {
  FrameName name;
  const char* why = nullptr;
  if (!FrameName::parse(frames.data(), frames.size(), &name, &why)) return "";
  auto named = [&](FrameSeq seq) {
    char text[kMaxTemplate + 32];
    return std::string(text, name.format(seq, text, sizeof text));
  };
  std::string words;
  std::vector<FrameRun> runs = set.runs();
  for (std::size_t i = 0; i < std::min(runs.size(), kMostRunsShown); ++i) {
    const FrameRun& run = runs[i];
    words += (i == 0 ? "" : ", ") + named(run.first);
    FrameSeq last = run.first + run.stride * (run.count - 1);
    if (run.count > 1) words += (run.count == 2 ? ", " : " to ") + named(last);
    if (run.count > 2 && run.stride > 1) words += fmt::format(" (each {}th)", run.stride);
  }
  if (runs.size() > kMostRunsShown) words += " and more";
  return printable(words);
}

std::string ending_words(const RankRecord* rank) {
  if (rank == nullptr) return "nothing is known";
  if (rank->life() == Life::kRuns) return "runs";
  if (rank->life() == Life::kUnknown) return "not known";
  switch (rank->ending()) {
    case Ending::kFinalized:
      return "in order";
    case Ending::kExited:
      return "without MPI_Finalize";
    case Ending::kNoWord:
      break;
  }
  return "without a word";
}

const char* life_words(Life life) {
  if (life == Life::kRuns) return "running";
  return life == Life::kOver ? "ended" : "running or ended";
}

bool ended_without_a_word(const RankRecord* rank) {
  return rank != nullptr && rank->life() == Life::kOver && rank->ending() == Ending::kNoWord;
}

// Frames of one dataset that a rank should have read, and that no rank read.
struct Lost {
  std::size_t rank;
  FrameSet frames;
};
std::vector<Lost> lost_frames(const JobAudit& job, const std::string& path) {
  FrameSet read_by_others;
  std::vector<Lost> lost;
  for (std::size_t r = 0; r < job.fragments.size(); ++r) {
    if (!job.fragments[r]) continue;
    for (const DatasetFragment& part : job.fragments[r]->datasets) {
      if (part.path != path) continue;
      read_by_others = set_union(read_by_others, part.read_others);
      if (!part.unread_own.empty()) lost.push_back({r, part.unread_own});
    }
  }
  for (Lost& one : lost) one.frames = set_difference(one.frames, read_by_others);
  std::erase_if(lost, [](const Lost& one) { return one.frames.empty(); });
  return lost;
}

std::string template_of(const JobRecord& job, const std::string& path) {
  const View& view = job.any().view();
  for (std::uint32_t d = 0; d < view.dataset_count; ++d) {
    if (path == view.datasets[d].path) return view.datasets[d].frames;
  }
  return "";
}

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

// Advice for the person who runs the job.
void print_advice(const JobRecord& job, const JobAudit& audited) {
  const Audit& audit = audited.audit;
  std::vector<std::size_t> silent, unknown;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (job.ranks[r] == nullptr) unknown.push_back(r);
    if (ended_without_a_word(job.ranks[r].get())) silent.push_back(r);
  }
  if (!silent.empty()) {
    print_line(
        "{} ended without a word: {} crashed, or {} killed, or left by _exit. What {} "
        "read until then is counted above.",
        rank_words(silent), silent.size() == 1 ? "it" : "they",
        silent.size() == 1 ? "was" : "were", silent.size() == 1 ? "it" : "they");
  }
  if (!unknown.empty()) {
    print_line(
        "Of {} nothing is known here: on another node, `zazenctl report {}` tells; "
        "--from RUNTIME takes in what another node's runtime directory has.",
        rank_words(unknown), job.number().substr(0, kNumberShown));
  }
  bool lost_by_silent = false, lost_by_others = false;
  for (const DatasetAudit& dataset : audit.datasets) {
    for (const Lost& lost : lost_frames(audited, dataset.path)) {
      bool silently = ended_without_a_word(job.ranks[lost.rank].get());
      (silently ? lost_by_silent : lost_by_others) = true;
    }
  }
  if (job.life() == Life::kRuns) {
    print_line("The job still runs: what was not read may still be.");
  } else if (job.life() == Life::kUnknown) {
    print_line("Whether the job still runs is not known here: what was not read may still be.");
  } else if (lost_by_others) {
    for (const std::string& line : loss_message(audit)) print_text(line);
  } else if (lost_by_silent) {
    print_line(
        "The frames that were never read are those of ranks that did not end in order: "
        "find out why, and run the job again.");
  } else if (audit.exactly_once) {
    print_line("Each frame was read exactly once.");
  } else if (audit.frames_read_twice != 0) {
    print_line(
        "Every frame was read, some of them by several ranks: a program that divides the "
        "list itself runs with ZAZEN_FILTER=off.");
  }
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
  RunSummary summary;
  summary.figures = figures;
  summary.earlier = job.runs.front()->record().earlier;
  summary.earlier_count = kMaxEarlierRuns;
  const EarlierRun* earlier = choose_earlier(summary);
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
  print_advice(job, audited);
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

}  // namespace

int report_command(const ReportOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  std::vector<std::string> runtimes = {node.runtime};
  constexpr std::string_view kLocal = "unix:";
  for (const std::string& peer : node.config.peers) {
    if (peer.starts_with(kLocal)) runtimes.push_back(peer.substr(kLocal.size()));
  }
  std::vector<JobRecord> jobs = find_jobs(runtimes, options.from);
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
