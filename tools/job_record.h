// JobRecord: what the ranks of one job left on this node, or on several: their views and
// tallies (bodhi/view.h), of ranks that ended or still run, put together by the job's number.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/view.h"
#include "coord/audit.h"

namespace zazen {

// From another node's directory it cannot be told, unless the rank said that it ended.
enum class Life { kRuns, kOver, kUnknown };

enum class Whereabouts { kThisNodesJobs, kOtherNodesJobs, kReports };

class RankRecord {
 public:
  // Nothing if the directory has no view that this user may trust.
  static std::unique_ptr<RankRecord> open(const std::string& directory, Whereabouts where);
  ~RankRecord() { unmap_view(view_, tally_); }
  RankRecord(const RankRecord&) = delete;
  RankRecord& operator=(const RankRecord&) = delete;

  const View& view() const { return *view_; }
  Ending ending() const { return tally_->ending; }
  Life life() const { return life_; }
  double protocol_seconds() const;
  Fragment fragment() const { return fragment_of_view(*view_, tally_); }

 private:
  RankRecord(const View* view, Tally* tally, Whereabouts where);

  const View* view_;
  Tally* tally_;
  Life life_;
};

struct JobRecord {
  std::vector<std::unique_ptr<RankRecord>> ranks;  // by rank; null: it left nothing here

  const RankRecord& any() const;  // there is at least one
  std::size_t count() const;
  Life life() const;           // runs if a rank does; over if all are that are known here
  std::string number() const;  // 16 hexadecimal digits
};

// Those of these runtime directories, the latest first.
std::vector<JobRecord> find_jobs(const std::vector<std::string>& of_this_node,
                                 const std::vector<std::string>& of_others);

struct JobAudit {
  Audit audit;
  std::vector<std::optional<Fragment>> fragments;  // by rank
};
JobAudit audit_of(const JobRecord& job);

}  // namespace zazen
