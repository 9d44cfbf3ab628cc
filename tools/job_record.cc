#include "tools/job_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "bodhi/process_life.h"
#include "bodhi/table.h"

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

}  // namespace

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
    return std::ranges::any_of(
        ranks, [&](const auto& rank) { return rank != nullptr && rank->life() == life; });
  };
  if (any_is(Life::kRuns)) return Life::kRuns;
  return any_is(Life::kUnknown) ? Life::kUnknown : Life::kOver;
}

std::string JobRecord::number() const {
  return fmt::format("{:016x}", any().view().job);
}

std::vector<JobRecord> find_jobs(const std::vector<std::string>& of_this_node,
                                 const std::vector<std::string>& of_others) {
  std::map<std::uint64_t, JobRecord> by_number;
  auto take_in = [&](const std::string& folder, Whereabouts where) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
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
  for (auto& [number, job] : by_number) jobs.push_back(std::move(job));
  std::ranges::stable_sort(jobs, std::ranges::greater(),
                           [](const JobRecord& job) { return job.any().view().started_ns; });
  return jobs;
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
