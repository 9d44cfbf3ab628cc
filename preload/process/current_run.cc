#include "preload/process/current_run.h"

#include <poll.h>
#include <stdio.h>

#include <cstring>

#include "bodhi/lean/run/run_summary.h"
#include "bodhi/lean/system/quiet_signals.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/current_view.h"
#include "preload/process/mpi_session.h"
#include "preload/process/node.h"
#include "preload/process/settings.h"

namespace zazen {

constinit std::atomic<RunRecord*> mapped_run{nullptr};

namespace {

constinit std::atomic<bool> is_ours{false};  // in memory of this process, not in the job's file
constinit std::atomic<bool> has_ended{false};

// A rank that ended earlier may have moved the directory to the reports.
RunRecord* map_file() {
  if (settings.run.directory[0] == '\0') return nullptr;
  RunRecord* record = map_run_record(settings.run.directory);
  char moved[kMaxPath];
  if (record == nullptr && path_in_reports(settings.run.directory, moved, sizeof moved)) {
    record = map_run_record(moved);
  }
  if (record == nullptr || record->number == settings.run.number) return record;
  unmap_run_record(record);
  return nullptr;
}

// cat, ls and similar programs close standard error when they end. The parent may have the same
// file: the terminal, the log of a batch job, the other end of a pipe. -1 if not.
int stderr_of_parent() {
  constexpr int kDescriptors = 64;
  char path[48];
  for (int fd = 0; fd < kDescriptors; ++fd) {
    struct stat st;
    ::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(raw_call(SYS_getppid)),
               fd);
    if (raw::fstatat(AT_FDCWD, path, &st, 0) != 0 || !settings.first_stderr.is(st)) continue;
    return raw_open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK);
  }
  return -1;
}

// A full pipe or a stopped terminal must not delay the end of the process.
void write_lines(const char* lines, std::size_t length) {
  const bool is_there = settings.first_stderr.is_there();
  const RawFd parents(is_there ? -1 : stderr_of_parent());
  const int fd = is_there ? STDERR_FILENO : parents.get();
  if (fd < 0) return;
  struct pollfd target = {fd, POLLOUT, 0};
  struct timespec limit = {2, 0};
  if (raw_call(SYS_ppoll, &target, 1, &limit, nullptr, 0) != 1) return;
  QuietSignals quiet;
  if ((target.revents & POLLOUT) != 0) raw::write(fd, lines, length);
}

void print_summary(const RunRecord& record, std::int64_t now_ns) {
  bool alive = false;
  const Node* node = current_node(&alive);
  RunSummary summary;
  summary.figures = figures_of(record);
  summary.ranks = record.ranks;
  summary.nodes = record.nodes;
  summary.duration_ns = now_ns - record.started_ns;
  summary.earlier = record.earlier;
  summary.earlier_count = kMaxEarlierRuns;
  add_others(record, &summary);
  summary.has_daemon = alive;
  summary.has_other_daemon = !alive && other_table_version(settings.runtime) != 0;
  summary.runtime = settings.runtime;
  for (std::uint32_t i = 0; alive && i < node->table->dataset_count; ++i) {
    if (node->table->datasets[i].removed != 0) continue;
    ++summary.datasets;
    summary.dataset = node->table->datasets[i].path;
    if (std::strcmp(summary.numbered_dataset, summary.dataset) == 0) {
      summary.numbered_frames = node->table->datasets[i].frames;
    }
  }
  char lines[kMaxPath];
  write_lines(lines, write_summary(summary, lines, sizeof lines));
}

// Ranks that do not share the file of the process that started them are on another host.
bool speaks_for_other_host() {
  return settings.run.voice == RunVoice::kStartsRanks &&
         is_ours.load(std::memory_order_relaxed) && settings.place.rank == 0 &&
         mpi_was_initialised() && settings.run.pid != raw_call(SYS_getpid);
}

bool speaks(const RunRecord& record) {
  if (speaks_for_other_host()) return true;
  if (settings.run.voice == RunVoice::kStartsRanks) return record.ranks != 0;
  return settings.run.voice == RunVoice::kSpeaks;
}

}  // namespace

RunRecord* map_current_run() {
  if (settings.run.number == 0) return nullptr;
  ErrnoKeeper keep;
  RunRecord* record = map_file();
  const bool is_own = record == nullptr;
  if (is_own) record = make_run_record(settings.run);
  if (record == nullptr) return nullptr;
  RunRecord* other = nullptr;
  if (mapped_run.compare_exchange_strong(other, record, std::memory_order_acq_rel)) {
    is_ours.store(is_own, std::memory_order_relaxed);
    return record;
  }
  unmap_run_record(record);
  return other;
}

void begin_run() {
  if (settings.place.rank < 0) return;
  RunRecord* record = current_run();
  if (record == nullptr) return;
  const auto size =
      static_cast<std::int32_t>(settings.place.size < 1 ? 1 : settings.place.size);
  std::int32_t known = record->ranks.load(std::memory_order_relaxed);
  while (known < size && !record->ranks.compare_exchange_weak(known, size)) {
  }
}

Ledger* ledger_of_report() {
  RunRecord* record = settings.place.rank < 0 ? current_run() : nullptr;
  return record != nullptr ? &record->ledger : make_ledger();
}

bool is_process_of_run() {
  return settings.run.number != 0 && settings.run.pid == raw_call(SYS_getpid);
}

void end_run() {
  const bool is_first = is_process_of_run();
  if (settings.run.number == 0 || (!is_first && mapped_run.load() == nullptr)) return;
  RunRecord* record = current_run();
  if (record == nullptr) return;
  ErrnoKeeper keep;
  const std::int64_t now_ns = wall_clock_ns();
  note_end(*record, now_ns);
  const bool is_last_word = is_first ? settings.place.speaks() : speaks_for_other_host();
  if (is_last_word && record->is_over.exchange(1) == 0 && speaks(*record)) {
    print_summary(*record, now_ns);
  }
  if (is_first && !has_ended.exchange(true) && record->runs.fetch_sub(1) == 1) {
    move_to_reports(settings.run.directory);
  }
}

}  // namespace zazen
