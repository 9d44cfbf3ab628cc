// RunRecord: what the processes of one `zazenctl run` did on this node.
//
// `zazenctl run` makes <runtime>/jobs/NAME/run and names it in ZAZEN_JOB. Every process of the
// job maps it shared and adds to it while it lives. So the counts of a process that is killed
// or calls _exit are kept. The process that `run` became prints the summary when it ends
// (run_summary.h). The last process moves the directory to <runtime>/reports. `zazenctl report`
// finds it there until daemon/worker/job_sweep.h removes it. The ranks that one launcher starts
// on a node share a record. Where there is no such file (another host), a process counts in
// memory of its own. Lean.
#pragma once
#include "bodhi/lean/run/ledger.h"
#include "bodhi/lean/run/other_files.h"
#include "bodhi/lean/run/report.h"

namespace zazen {

inline constexpr char kRunFile[] = "run";
inline constexpr char kRunVariable[] = "ZAZEN_JOB";
inline constexpr std::uint64_t kRunMagic = 0x316e75725a415aULL;
inline constexpr std::uint32_t kRunVersion = 2;
inline constexpr std::size_t kMaxRunCommand = 1024;
inline constexpr std::size_t kMaxEarlierRuns = 8;

// Whether the process that `run` became prints the summary. A process that starts ranks prints
// it if they are on this node; otherwise rank 0 does.
enum class RunVoice : std::uint32_t { kSilent = 0, kSpeaks = 1, kStartsRanks = 2 };

// The value of ZAZEN_JOB.
struct RunPlace {
  std::uint64_t number = 0;  // 0: this process belongs to no run
  std::int64_t started_ns = 0;
  std::int32_t pid = 0;  // the process that `run` became
  RunVoice voice = RunVoice::kSilent;
  char directory[kMaxPath] = {};  // "" if there is no file
};
// False if the value is malformed.
bool read_run_place(const char* value, RunPlace* place);
// The longest value, which `out` has room for.
inline constexpr std::size_t kMaxRunValue = kMaxPath + 80;
std::size_t write_run_place(const RunPlace& place, char* out);

struct EarlierRun {  // of the same command
  std::int64_t duration_ns;
  std::uint64_t frames, hits, opens;
};

struct RunRecord {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t owner_pid;     // the job's first process or the launcher; the job ends with it
  std::uint64_t number;       // of this record
  std::int64_t started_ns;    // since 1970
  std::uint64_t command_key;  // of the arguments and the working directory
  char command[kMaxRunCommand];
  char directory[kMaxPath];
  EarlierRun earlier[kMaxEarlierRuns];  // the latest first; duration_ns 0: there is none

  std::atomic<std::uint64_t> job;      // its number in reports: the MPI job's, if there is one
  std::atomic<std::int64_t> ended_ns;  // of the process that ended last
  std::atomic<std::uint32_t> is_over;  // the summary was printed
  std::atomic<std::uint32_t> runs;     // live processes that `run` became
  std::atomic<std::int32_t> ranks;     // 0: it has none
  std::atomic<std::int32_t> nodes;
  std::atomic<std::uint32_t> finalized;  // ranks that reached MPI_Finalize
  std::atomic<std::uint32_t> is_taken;   // an MPI job has this record's number
  // Counts of ranks with other records, which rank 0 learns in MPI_Finalize.
  std::atomic<std::uint64_t> other_frames, other_hits, other_misses;
  std::atomic<std::uint64_t> other_bytes_local, other_bytes_origin;
  OtherFiles others;
  alignas(4096) Ledger ledger;
};
// The part that is written when the file is made; the rest is sparse.
inline constexpr std::size_t kRunFront = offsetof(RunRecord, ledger) + offsetof(Ledger, paths);

struct RunFigures {
  std::uint64_t frames = 0, hits = 0, misses = 0, bytes_local = 0, bytes_origin = 0;
  bool is_whole = true;  // false: some could not be noted; the figure is a lower bound

  std::uint64_t opens() const { return hits + misses; }
};
RunFigures figures_of(const RunRecord& record);

// The most frequent calls for other files, of one dataset or (null) of all. Returns how many.
std::size_t others_of(const RunRecord& record, const char* dataset,
                      OtherReport (&out)[OtherFiles::kMostShown]);

// Maps <directory>/run. Null if it is missing, another user's, or not valid.
RunRecord* map_run_record(const char* directory);
// Makes a record in memory, for this process and its forked children. Null if there is no
// memory.
RunRecord* make_run_record(const RunPlace& place);
void unmap_run_record(RunRecord* record);

std::int64_t wall_clock_ns();
// Notes that a process of the job ends.
void note_end(RunRecord& record, std::int64_t now_ns);

}  // namespace zazen
