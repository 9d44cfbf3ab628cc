// JobRecord: what one job left on this node, or on several, put together by its number: the
// views and tallies of its ranks (bodhi/lean/frames/view.h) and the records of `zazenctl run`
// (bodhi/lean/run/run_record.h), of processes that ended or still run.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bodhi/lean/frames/view.h"
#include "bodhi/lean/run/run_record.h"
#include "coord/audit/audit.h"
#include "tools/support/node.h"

namespace zazen {

// kUnknown: a directory of another node cannot show it, unless the rank said that it ended.
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

class RunFile {  // of one node
 public:
  // Nothing if the directory has no record that this user may trust.
  static std::unique_ptr<RunFile> open(const std::string& directory, Whereabouts where);
  ~RunFile() { unmap_run_record(record_); }
  RunFile(const RunFile&) = delete;
  RunFile& operator=(const RunFile&) = delete;

  const RunRecord& record() const { return *record_; }
  Life life() const { return life_; }
  bool ended_in_order() const { return record_->is_over != 0 || record_->runs == 0; }

 private:
  RunFile(RunRecord* record, Whereabouts where);

  RunRecord* record_;
  Life life_;
};

// Calls for files of a dataset's directory that are no frames (bodhi/lean/run/other_files.h).
struct OtherCalls {
  std::string dataset, pattern;
  std::uint64_t reads = 0, writes = 0, stats = 0;
  double open_seconds = 0, stat_seconds = 0;

  std::uint64_t calls() const { return reads + writes + stats; }
};

struct JobAudit {
  Audit audit;
  std::vector<std::optional<Fragment>> fragments;  // by rank
};

struct JobRecord {
  std::uint64_t id = 0;
  std::vector<std::unique_ptr<RankRecord>> ranks;  // by rank; null: it left nothing here
  std::vector<std::unique_ptr<RunFile>> runs;      // of `zazenctl run`, one for each node

  bool is_divided() const { return !ranks.empty(); }
  const RankRecord& any() const;  // of a divided job: there is at least one
  std::size_t count() const;
  Life life() const;  // runs if a process does; over if all are that are known here
  bool ended_in_order() const;
  std::string number() const;  // 16 hexadecimal digits
  std::string command() const;
  std::int64_t started_ns() const;
  std::size_t rank_count() const;  // 0: it is no MPI program
  int node_count() const;
  std::optional<std::int64_t> duration_ns() const;  // of one that is over, if it is known
  RunFigures figures() const;
};

// The jobs of these runtime directories, the latest first.
std::vector<JobRecord> find_jobs(const std::vector<std::string>& of_this_node,
                                 const std::vector<std::string>& of_others);

// Those of this node, of its peers on this machine, and of `from`.
std::vector<JobRecord> jobs_of(const Node& node, const std::vector<std::string>& from = {});

JobAudit audit_of(const JobRecord& job);  // a divided one

// The most frequent calls for other files, of one dataset or ("") of all.
std::vector<OtherCalls> other_calls(const JobRecord& job, const std::string& dataset = "");

// Frames that a job opened, by the dataset's path, where it has records of `zazenctl run`.
std::map<std::string, FrameSet> opened_frames(const JobRecord& job);

}  // namespace zazen
