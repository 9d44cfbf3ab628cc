// Report: the figures of one job, and the JSON that ZAZEN_REPORT asks for. Written by
// rank 0 of an MPI job, or by a serial process. Lean: the shim writes one too.
#pragma once
#include "bodhi/lean/system/base_types.h"

namespace zazen {

// The "schema_version" of every JSON that Zazen prints. An added field does not change it.
inline constexpr int kSchemaVersion = 1;

struct RankReport {
  std::int32_t rank;
  char node[kMaxNodeName];  // "" if the rank has no daemon
  std::uint64_t assigned;   // frames of the rank's view, of datasets that the job touched
  std::uint64_t read;       // frames that the rank opened for reading
  std::uint64_t hits;
  std::uint64_t misses;
  bool reported;  // false: its figures did not arrive in time
};

struct PhaseReport {
  const char* name;
  double seconds;
};

struct OtherReport {  // calls for files of a dataset's directory that are no frames
  const char* dataset;
  const char* pattern;
  std::uint64_t reads, writes, stats;  // opens to read, to write
  double open_seconds, stat_seconds;
};

struct JobReport {
  bool filtered;
  bool complete;  // every rank reported
  std::uint64_t frames_listed;
  std::uint64_t frames_read;
  std::uint64_t frames_read_twice;
  std::uint64_t frames_never_read;
  std::int64_t frames_arrived_later;  // -1: not counted
  bool exactly_once;
  std::uint64_t hits;
  std::uint64_t misses;
  std::uint64_t bytes_local;
  std::uint64_t bytes_origin;
  double duration_seconds;    // of the whole job; -1: not known
  double protocol_seconds;    // the extra time of MPI_Init, without listing_seconds
  double listing_seconds;     // reading the origin's directories, if no node has a listing
  const PhaseReport* phases;  // the phases of both, on rank 0; `phase_count` of them
  std::size_t phase_count;
  std::int32_t nodes;
  std::int32_t ranks;
  const RankReport* rank_reports;  // `rank_count` of them
  std::size_t rank_count;
  const OtherReport* others;  // the most frequent, on this node; null: not known
  std::size_t other_count;
  const char* reason;  // why it was not filtered; null or a phrase
};

// Writes the report as JSON to path (a new file beside it, then rename). 0 or an errno.
int write_report(const char* path, const JobReport& report);
// Any other text, in the same way.
int write_text(const char* path, const char* text, std::size_t size);
// The report into an open file.
int write_report_to(int fd, const JobReport& report);

}  // namespace zazen
