#include "preload/frames/serial_report.h"

#include <cstring>

#include "bodhi/lean/run/report.h"
#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/frames/open_counts.h"
#include "preload/process/current_run.h"
#include "preload/process/log.h"
#include "preload/process/mpi_session.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

bool is_serial() {
  return settings.active && settings.pid == raw_call(SYS_getpid) && !mpi_was_initialised() &&
         settings.inherited_view[0] == '\0';
}

struct LedgerSums {
  std::uint64_t listed = 0;  // or opened by name
  std::uint64_t read = 0;
  std::uint64_t never_read = 0;
};

LedgerSums sum(const Ledger& ledger) {
  LedgerSums sums;
  ledger.for_each([&sums](std::uint32_t, FrameSeq, std::uint32_t flags) {
    sums.listed += 1;
    sums.read += (flags & Ledger::kOpened) != 0;
    sums.never_read += flags == Ledger::kListed;
  });
  return sums;
}

}  // namespace

void write_serial_report() {
  if (settings.ledger == nullptr || !is_serial()) return;
  ErrnoKeeper keep;
  ReentryGuard guard;
  const Ledger& ledger = *settings.ledger;
  std::uint64_t hits = ledger.hits.load(), misses = ledger.misses.load();
  LedgerSums sums = sum(ledger);
  // The ranks that this process started write the report of their job.
  const RunRecord* run = current_run();
  const bool others_report = run != nullptr && run->ranks.load(std::memory_order_relaxed) != 0;
  if ((sums.listed == 0 || others_report) &&
      raw::faccessat(AT_FDCWD, settings.report, F_OK, 0) == 0) {
    return;
  }
  bool alive = false;
  const Node* node = current_node(&alive);

  RankReport rank = {};
  if (node != nullptr) std::memcpy(rank.node, node->table->node_name, sizeof rank.node);
  rank.assigned = sums.listed;
  rank.read = sums.read;
  rank.hits = hits;
  rank.misses = misses;
  rank.reported = true;

  JobReport report = {};
  report.complete = ledger.overflowed.load() == 0;
  report.frames_listed = sums.listed;
  report.frames_read = sums.read;
  report.frames_never_read = sums.never_read;
  report.exactly_once = report.complete && sums.listed != 0 && sums.never_read == 0;
  report.hits = hits;
  report.misses = misses;
  report.bytes_local = ledger.bytes_local.load();
  report.bytes_origin = ledger.bytes_origin.load();
  report.duration_seconds =
      run == nullptr ? -1 : static_cast<double>(wall_clock_ns() - run->started_ns) / 1e9;
  OtherReport others[OtherFiles::kMostShown];
  if (run != nullptr) {
    report.others = others;
    report.other_count = others_of(*run, nullptr, others);
  }
  report.nodes = node != nullptr ? 1 : 0;
  report.ranks = 1;
  report.rank_reports = &rank;
  report.rank_count = 1;
  report.reason = "not an MPI program";
  if (int error = write_report(settings.report, report); error != 0) {
    log_line(LogLevel::kWarn, "%s: the report was not written: errno %d", settings.report,
             error);
  }
}

void log_closing_line() {
  if (settings.log_level < LogLevel::kInfo || !is_serial()) return;
  if (settings.run.voice != RunVoice::kSilent) return;  // the job has a summary
  OpenCounts counts = opens_of_this_process();
  if (counts.hits + counts.misses == 0) return;
  log_line(LogLevel::kInfo, "opens of frames: %llu from the cache, %llu from the origin",
           static_cast<unsigned long long>(counts.hits),
           static_cast<unsigned long long>(counts.misses));
}

}  // namespace zazen
