// The lines that end a job under `zazenctl run`, and how long things took in words. Pure. Lean:
// the shim prints them, and no locale, no floating point is asked.
#pragma once
#include "bodhi/lean/run/run_record.h"

namespace zazen {

struct RunSummary {
  RunFigures figures;
  std::int32_t ranks = 0;  // 0: it is no MPI program
  std::int32_t nodes = 0;
  std::int64_t duration_ns = 0;
  const EarlierRun* earlier = nullptr;  // `earlier_count` of them, the latest first
  std::size_t earlier_count = 0;
  // Calls for other files in the datasets' directories, as this node knows of them.
  std::uint64_t other_opens = 0, other_stats = 0;
  std::int64_t other_ns = 0;
  const char* slowest_other = "";  // the pattern that took the most time
  // The names with a number that were read most often, and where.
  const OtherPattern* numbered = nullptr;
  const char* numbered_dataset = "";
  const char* numbered_frames = "";  // the template there
  // Where no frame was opened: why.
  bool has_daemon = false;
  bool has_other_daemon = false;  // of another version of Zazen
  std::uint32_t datasets = 0;
  const char* dataset = "";  // the path, if there is one
  const char* runtime = "";
};

// Fills in what the record has of other files, but for numbered_frames.
void add_others(const RunRecord& record, RunSummary* summary);

// The lines, each with "zazen: ", a newline and at most kSummaryColumns; how many bytes. A NUL
// follows. Calls for other files have a line of their own, if they took a tenth of the time.
inline constexpr std::size_t kSummaryColumns = 80;
std::size_t write_summary(const RunSummary& summary, char* out, std::size_t capacity);

// "0.25 s", "16.8 s", "4m12s", "2h05m"; its length.
std::size_t write_duration(std::int64_t ns, char* out, std::size_t capacity);

// The earlier run that this one is compared with: it opened as many frames. The latest with
// another share from the cache counts, else the latest; null if there is none.
const EarlierRun* choose_earlier(const RunSummary& summary);
// Whether the summary compares the runs: the times differ by a tenth of a second and by a
// tenth, and the run with more from the cache was faster. Of equal shares, a slower one is
// told.
bool tells_something(const RunSummary& summary, const EarlierRun& earlier);

// 0 to 100; neither 0 nor 100 unless it is exactly none or all.
unsigned percent_of(std::uint64_t part, std::uint64_t whole);

}  // namespace zazen
