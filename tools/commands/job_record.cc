#include "tools/commands/job_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "bodhi/common/process_life.h"
#include "bodhi/lean/frames/table.h"

namespace zazen {
namespace {

Life life_of(const View& view, const Tally& tally, Whereabouts where) {
  switch (where) {
    case Whereabouts::kThisNodesJobs:
      return process_is_over(view.owner_pid) ? Life::kOver : Life::kRuns;
    case Whereabouts::kOtherNodesJobs:
      return tally.ending == Ending::kNoWord ? Life::kUnknown : Life::kOver;
    case Whereabouts::kReports:
      break;
  }
  return Life::kOver;
}

Life life_of(const RunRecord& record, Whereabouts where) {
  const bool said_so = record.is_over != 0 || record.runs == 0;
  if (said_so || where == Whereabouts::kReports) return Life::kOver;
  if (where == Whereabouts::kOtherNodesJobs) return Life::kUnknown;
  return process_is_over(record.owner_pid) ? Life::kOver : Life::kRuns;
}

}  // namespace

std::unique_ptr<RunFile> RunFile::open(const std::string& directory, Whereabouts where) {
  RunRecord* record = map_run_record(directory.c_str());
  return std::unique_ptr<RunFile>(record == nullptr ? nullptr : new RunFile(record, where));
}

RunFile::RunFile(RunRecord* record, Whereabouts where)
    : record_(record), life_(life_of(*record, where)) {}

std::unique_ptr<RankRecord> RankRecord::open(const std::string& directory, Whereabouts where) {
  const View* view = nullptr;
  Tally* tally = nullptr;
  if (!map_view(directory.c_str(), &view, &tally)) return nullptr;
  return std::unique_ptr<RankRecord>(new RankRecord(view, tally, where));
}

RankRecord::RankRecord(const View* view, Tally* tally, Whereabouts where)
    : view_(view), tally_(tally), life_(life_of(*view, *tally, where)) {}

double RankRecord::protocol_seconds() const {
  return static_cast<double>(tally_->protocol_us.load()) / 1e6;
}

const RankRecord& JobRecord::any() const {
  return **std::ranges::find_if(ranks, [](const auto& rank) { return rank != nullptr; });
}

std::size_t JobRecord::count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ranks, [](const auto& rank) { return rank != nullptr; }));
}

Life JobRecord::life() const {
  auto any_is = [this](Life life) {
    auto is = [&](const auto& part) { return part != nullptr && part->life() == life; };
    return std::ranges::any_of(ranks, is) || std::ranges::any_of(runs, is);
  };
  if (any_is(Life::kRuns)) return Life::kRuns;
  return any_is(Life::kUnknown) ? Life::kUnknown : Life::kOver;
}

std::string JobRecord::number() const {
  return fmt::format("{:016x}", id);
}

bool JobRecord::ended_in_order() const {
  if (life() != Life::kOver) return false;
  const bool ranks_did = std::ranges::all_of(ranks, [](const auto& rank) {
    return rank == nullptr || rank->ending() != Ending::kNoWord;
  });
  return ranks_did &&
         std::ranges::all_of(runs, [](const auto& run) { return run->ended_in_order(); });
}

std::string JobRecord::command() const {
  return runs.empty() ? any().view().command : runs.front()->record().command;
}

std::int64_t JobRecord::started_ns() const {
  return runs.empty() ? any().view().started_ns : runs.front()->record().started_ns;
}

std::size_t JobRecord::rank_count() const {
  return is_divided() ? ranks.size()
                      : static_cast<std::size_t>(runs.front()->record().ranks.load());
}

int JobRecord::node_count() const {
  if (is_divided()) return any().view().nodes;
  return std::max(runs.front()->record().nodes.load(), static_cast<int>(runs.size()));
}

std::optional<std::int64_t> JobRecord::duration_ns() const {
  if (runs.empty() || life() != Life::kOver) return std::nullopt;
  std::int64_t ended = 0;
  for (const auto& run : runs) ended = std::max(ended, run->record().ended_ns.load());
  if (ended == 0) return std::nullopt;
  return ended - started_ns();
}

RunFigures JobRecord::figures() const {
  RunFigures sum;
  if (runs.empty()) {
    const Audit audit = audit_of(*this).audit;
    return {audit.frames_read, audit.hits,         audit.misses,
            audit.bytes_local, audit.bytes_origin, audit.complete};
  }
  for (const auto& run : runs) {
    const RunRecord& record = run->record();
    // Rank 0 has summed up all of them.
    if (record.other_hits + record.other_misses != 0 || runs.size() == 1) {
      return figures_of(record);
    }
    sum.hits += record.ledger.hits;
    sum.misses += record.ledger.misses;
    sum.bytes_local += record.ledger.bytes_local;
    sum.bytes_origin += record.ledger.bytes_origin;
    sum.is_whole = sum.is_whole && record.ledger.overflowed == 0;
  }
  for (const auto& [path, frames] : opened_frames(*this)) sum.frames += frames.size();
  return sum;
}

std::vector<OtherCalls> other_calls(const JobRecord& job, const std::string& dataset) {
  std::vector<OtherCalls> sums;
  for (const auto& run : job.runs) {
    OtherReport some[OtherFiles::kMostShown];
    const char* path = dataset.empty() ? nullptr : dataset.c_str();
    const std::size_t count = others_of(run->record(), path, some);
    for (std::size_t i = 0; i < count; ++i) {
      const OtherReport& one = some[i];
      auto sum = std::ranges::find_if(sums, [&](const OtherCalls& known) {
        return known.dataset == one.dataset && known.pattern == one.pattern;
      });
      if (sum == sums.end()) sum = sums.insert(sum, {one.dataset, one.pattern});
      sum->reads += one.reads;
      sum->writes += one.writes;
      sum->stats += one.stats;
      sum->open_seconds += one.open_seconds;
      sum->stat_seconds += one.stat_seconds;
    }
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &OtherCalls::calls);
  if (sums.size() > OtherFiles::kMostShown) sums.resize(OtherFiles::kMostShown);
  return sums;
}

std::map<std::string, FrameSet> opened_frames(const JobRecord& job) {
  std::map<std::string, FrameSet> opened;
  for (const auto& run : job.runs) {
    for (const DatasetFragment& part : fragment_of_ledger(run->record().ledger, 0).datasets) {
      opened[part.path] = set_union(opened[part.path], part.opened_frames);
    }
  }
  return opened;
}

std::vector<JobRecord> find_jobs(const std::vector<std::string>& of_this_node,
                                 const std::vector<std::string>& of_others) {
  std::map<std::uint64_t, JobRecord> by_number;
  auto take_in = [&](const std::string& folder, Whereabouts where) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (std::unique_ptr<RunFile> run = RunFile::open(entry.path(), where)) {
        auto& runs = by_number[run->record().job].runs;
        const std::uint64_t number = run->record().number;
        const bool is_known = std::ranges::any_of(
            runs, [&](const auto& known) { return known->record().number == number; });
        if (!is_known) runs.push_back(std::move(run));
        continue;
      }
      std::unique_ptr<RankRecord> record = RankRecord::open(entry.path(), where);
      if (record == nullptr) continue;
      const View& view = record->view();
      JobRecord& job = by_number[view.job];
      auto rank = static_cast<std::size_t>(view.rank);
      job.ranks.resize(std::max(job.ranks.size(), static_cast<std::size_t>(view.ranks)));
      bool known_better = job.ranks[rank] != nullptr && record->life() == Life::kUnknown;
      if (!known_better) job.ranks[rank] = std::move(record);
    }
  };
  for (const std::string& runtime : of_this_node) {
    take_in(runtime + "/" + kJobsDirectory, Whereabouts::kThisNodesJobs);
    take_in(runtime + "/" + kReportsDirectory, Whereabouts::kReports);
  }
  for (const std::string& runtime : of_others) {
    take_in(runtime + "/" + kJobsDirectory, Whereabouts::kOtherNodesJobs);
    take_in(runtime + "/" + kReportsDirectory, Whereabouts::kReports);
  }
  std::vector<JobRecord> jobs;
  for (auto& [number, job] : by_number) {
    job.id = number;
    // The record of rank 0 comes first, because it has the sums of the others.
    std::ranges::stable_sort(job.runs, std::ranges::greater(), [](const auto& run) {
      return run->record().other_hits + run->record().other_misses;
    });
    jobs.push_back(std::move(job));
  }
  std::ranges::stable_sort(jobs, std::ranges::greater(), &JobRecord::started_ns);
  return jobs;
}

std::vector<JobRecord> jobs_of(const Node& node, const std::vector<std::string>& from) {
  std::vector<std::string> runtimes = {node.runtime};
  constexpr std::string_view kLocal = "unix:";
  for (const std::string& peer : node.config.peers) {
    if (peer.starts_with(kLocal)) runtimes.push_back(peer.substr(kLocal.size()));
  }
  return find_jobs(runtimes, from);
}

JobAudit audit_of(const JobRecord& job) {
  const View& view = job.any().view();
  Agreement agreement;
  agreement.filtered = true;
  agreement.ranks = static_cast<int>(job.ranks.size());
  agreement.nodes = view.nodes;
  agreement.places.resize(job.ranks.size());
  for (std::uint32_t d = 0; d < view.dataset_count; ++d) {
    const ViewDataset& dataset = view.datasets[d];
    agreement.datasets.push_back({dataset.path, dataset.frames, {}, dataset.domain_count, 0});
  }
  JobAudit result;
  result.fragments.resize(job.ranks.size());
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (job.ranks[r] == nullptr) continue;
    agreement.places[r].node = job.ranks[r]->view().node_name;
    result.fragments[r] = job.ranks[r]->fragment();
  }
  result.audit = merge_fragments(agreement, result.fragments);
  return result;
}

}  // namespace zazen
