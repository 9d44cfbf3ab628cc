#include "tools/commands/job_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "bodhi/lean/run/run_summary.h"
#include "tools/commands/job_table.h"
#include "tools/support/output.h"

namespace zazen {
namespace {

constexpr std::size_t kMostRunsShown = 6;

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

bool ended_without_a_word(const RankRecord* rank) {
  return rank != nullptr && rank->life() == Life::kOver && rank->ending() == Ending::kNoWord;
}

}  // namespace

std::string rank_words(const std::vector<std::size_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + numbers(ranks);
}

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

Advice advice_on(const JobRecord& job, const JobAudit& audited) {
  const Audit& audit = audited.audit;
  Advice advice;
  auto say = [&](std::string line) { advice.lines.push_back(std::move(line)); };
  std::vector<std::size_t> silent, unknown;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (job.ranks[r] == nullptr) unknown.push_back(r);
    if (ended_without_a_word(job.ranks[r].get())) silent.push_back(r);
  }
  if (!silent.empty()) {
    say(fmt::format(
        "{} ended without a word: {} crashed, or {} killed, or left by _exit. What {} "
        "read until then is counted above.",
        rank_words(silent), silent.size() == 1 ? "it" : "they",
        silent.size() == 1 ? "was" : "were", silent.size() == 1 ? "it" : "they"));
  }
  if (!unknown.empty()) {
    say(
        fmt::format("Of {} nothing is known here: on another node, `zazenctl report {}` tells; "
                    "--from RUNTIME takes in what another node's runtime directory has.",
                    rank_words(unknown), job.number().substr(0, kNumberShown)));
  }
  bool lost_by_silent = false, lost_by_others = false;
  for (const DatasetAudit& dataset : audit.datasets) {
    for (const Lost& lost : lost_frames(audited, dataset.path)) {
      bool silently = ended_without_a_word(job.ranks[lost.rank].get());
      (silently ? lost_by_silent : lost_by_others) = true;
    }
  }
  if (job.life() == Life::kRuns) {
    say("The job still runs: what was not read may still be.");
  } else if (job.life() == Life::kUnknown) {
    say("Whether the job still runs is not known here: what was not read may still be.");
  } else if (lost_by_others) {
    for (const std::string& line : loss_message(audit)) say(line);
  } else if (lost_by_silent) {
    say("The frames that were never read are those of ranks that did not end in order: "
        "find out why, and run the job again.");
  } else if (audit.exactly_once) {
    advice.is_good = true;
    say("Each frame was read exactly once.");
  } else if (audit.frames_read_twice != 0) {
    say("Every frame was read, some of them by several ranks: a program that divides the "
        "list itself runs with ZAZEN_FILTER=off.");
  }
  return advice;
}

const EarlierRun* earlier_run(const JobRecord& job) {
  if (job.runs.empty()) return nullptr;
  RunSummary summary;
  summary.figures = job.figures();
  summary.earlier = job.runs.front()->record().earlier;
  summary.earlier_count = kMaxEarlierRuns;
  return choose_earlier(summary);
}

}  // namespace zazen
