#include "preload/process/division.h"

#include <cstring>

#include "bodhi/lean/system/last_words.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/current_view.h"
#include "preload/process/log.h"
#include "preload/process/mpi_session.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

ZAZEN_SELDOM_USED constinit char paths[kMaxPath] = {};
ZAZEN_SELDOM_USED constinit std::atomic<bool> listed_early[kMaxDatasets] = {};

constexpr int kFailed = 1;  // the exit status

// Looks in ZAZEN_DATASETS, whose paths may end with '/'.
Named named(const char* path) {
  if (settings.datasets[0] == '\0') return Named::kNobody;
  const std::size_t length = std::strlen(path);
  for (const char* at = settings.datasets; *at != '\0';) {
    const char* colon = std::strchr(at, ':');
    std::size_t size =
        colon == nullptr ? std::strlen(at) : static_cast<std::size_t>(colon - at);
    const char* next = at + size + (colon == nullptr ? 0 : 1);
    while (size > 1 && at[size - 1] == '/') --size;
    if (size == length && std::memcmp(at, path, size) == 0) return Named::kThisOne;
    at = next;
  }
  return Named::kOthers;
}

FilterMode wanted(const TableDataset& dataset) {
  if (dataset.removed != 0) return FilterMode::kOff;
  return wanted_filter(settings.filter, named(dataset.path), dataset.filter);
}

// Adds ", /sim2"; a path that does not fit is left out.
void add_path(const char* path) {
  std::size_t used = std::strlen(paths), length = std::strlen(path);
  std::size_t comma = used == 0 ? 0 : 2;
  if (used + comma + length >= sizeof paths) return;
  std::memcpy(paths + used, ", ", comma);
  std::memcpy(paths + used + comma, path, length + 1);
}

bool begins_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

FilterMode by_table(const Table& table) {
  FilterMode most = FilterMode::kOff;
  for (std::uint32_t i = 0; i < table.dataset_count; ++i) {
    FilterMode filter = wanted(table.datasets[i]);
    if (filter == FilterMode::kOff) continue;
    add_path(table.datasets[i].path);
    if (filter > most) most = filter;
  }
  return most;
}

// The expectation that `zazenctl run` passed on.
FilterMode by_variable() {
  const char* blank = std::strchr(settings.division, ' ');
  if (blank == nullptr) return FilterMode::kOff;
  add_path(blank + 1);
  return begins_with(settings.division, "require ") ? FilterMode::kRequire : FilterMode::kOn;
}

[[noreturn]] void end_process() {
  for (;;) raw_call(SYS_exit_group, kFailed);
}

// Gives the speaking rank time to print its line; usually the launcher ends this rank
// meanwhile.
void wait_for_speaking_rank() {
  constexpr struct timespec kLong = {5, 0};
  raw_call(SYS_nanosleep, &kLong, nullptr);
}

}  // namespace

Expectation expected_division() {
  if (settings.filter == FilterWish::kOff) return {FilterMode::kOff, ""};
  bool alive = false;
  const Node* node = current_node(&alive);
  paths[0] = '\0';
  FilterMode most = FilterMode::kOff;
  if (!alive && settings.division[0] != '\0') {
    most = by_variable();
  } else if (node != nullptr) {
    most = by_table(*node->table);
  }
  if (settings.filter == FilterWish::kRequire) most = FilterMode::kRequire;
  if (settings.filter == FilterWish::kOn && most == FilterMode::kOff) most = FilterMode::kOn;
  return {most, paths};
}

void answer_for_undivided_job(const Standing& standing, const char* reason, void (*abort)()) {
  if (standing.size == 1) return;
  const Expectation expected = expected_division();
  if (expected.filter == FilterMode::kOff) {
    log_line(LogLevel::kWarn, "nothing is divided: %s", reason);
    return;
  }
  const bool speaks = standing.rank <= 0;
  const char* of = expected.paths[0] == '\0' ? "" : " of ";
  if (expected.filter != FilterMode::kRequire) {
    if (!speaks) return;
    say_line(
        "this job is not divided: every rank sees all frames%s%s: %s "
        "(--no-divide or ZAZEN_FILTER=off: no message)",
        of, expected.paths, reason);
    return;
  }
  if (!speaks) wait_for_speaking_rank();
  say_line(
      "this job ends: the frames%s%s cannot be divided among the ranks: %s "
      "(--no-divide or ZAZEN_FILTER=off: it runs undivided)",
      of, expected.paths, reason);
  wait_for_stderr();
  abort();
  end_process();
}

bool early_listings_matter() {
  return settings.place.is_one_of_several() && settings.filter != FilterWish::kOff &&
         current_view() == nullptr && !mpi_was_initialised();
}

void note_early_listing(const Node& node, std::uint32_t dataset) {
  const TableDataset& published = node.table->datasets[dataset];
  const FilterMode filter = wanted(published);
  if (filter == FilterMode::kOff) return;
  listed_early[dataset].store(true, std::memory_order_relaxed);
  if (filter != FilterMode::kRequire) return;
  if (!settings.place.speaks()) wait_for_speaking_rank();
  say_line(
      "process %ld of %ld ends: it lists %s before MPI_Init, so it would see the frames of "
      "all ranks (--no-divide or ZAZEN_FILTER=off: it may)",
      settings.place.rank, settings.place.size, published.path);
  wait_for_stderr();
  end_process();
}

bool was_listed_early(const char* path) {
  bool alive = false;
  const Node* node = current_node(&alive);
  for (std::uint32_t i = 0; node != nullptr && i < node->table->dataset_count; ++i) {
    if (listed_early[i].load(std::memory_order_relaxed) &&
        std::strcmp(node->table->datasets[i].path, path) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace zazen
