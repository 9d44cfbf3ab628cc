#include "preload/trace/printout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "preload/calls/hook.h"
#include "preload/trace/call_site.h"
#include "preload/trace/destination.h"
#include "preload/trace/figures.h"
#include "preload/trace/frame_files.h"
#include "preload/trace/record.h"
#include "preload/trace/text.h"

namespace zazen::trace {
namespace {

using Sums = FiguresOf<std::uint64_t>;

constexpr std::size_t kMaxLabel = 448, kMaxText = 64 << 10;
constexpr std::size_t kShownRows = 20;
constexpr int kColumns = 8;

struct Label {
  char text[kMaxLabel];
};

struct Row {
  Label label;
  Sums sums;
};

// The memory for printing, in pages that are touched only then.
struct Workspace {
  Row rows[kMaxSites];
  std::uintptr_t addresses[kMaxSites];
  SourceLine lines[kMaxSites];
  char text[kMaxText];
};

constinit Workspace* workspace = nullptr;
constinit int pid = 0;  // the process that these figures belong to
constinit std::atomic<bool> printed{false};
constinit char prefix[32] = "";

void add(Sums& sums, const Sums& more) {
  sums.opens += more.opens;
  sums.hits += more.hits;
  sums.misses += more.misses;
  sums.reads += more.reads;
  sums.bytes += more.bytes;
  sums.mapped += more.mapped;
  sums.closes += more.closes;
  sums.nanoseconds += more.nanoseconds;
}

Sums snapshot(const Figures& figures) {
  auto value = [](const std::atomic<std::uint64_t>& figure) {
    return figure.load(std::memory_order_relaxed);
  };
  return {value(figures.opens),  value(figures.hits),       value(figures.misses),
          value(figures.reads),  value(figures.bytes),      value(figures.mapped),
          value(figures.closes), value(figures.nanoseconds)};
}

bool is_empty(const Sums& sums) {
  return sums.opens + sums.reads + sums.mapped + sums.closes == 0;
}

// read_frame (analyse.c:42); read_frame (analyse+0x11d9); analyse+0x11d9
Label label_of(std::uintptr_t address, const SourceLine& line) {
  Label label;
  ModuleOffset place;
  char where[192];
  if (line.file[0] != '\0') {
    ::snprintf(where, sizeof where, "%s:%d", line.file, line.line);
  } else if (address != kUnknownSite && module_of(address, &place)) {
    ::snprintf(where, sizeof where, "%s+0x%zx", place.module, place.offset);
  } else {
    ::snprintf(where, sizeof where, "unknown");
  }
  bool named = line.function[0] != '\0';
  ::snprintf(label.text, sizeof label.text, named ? "%s (%s)" : "%s%s", line.function, where);
  return label;
}

// Calls on one line of the source become one row. Returns the rows, and the sums of all others.
std::size_t collect_rows(bool with_names, Sums* frames, Sums* others) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kMaxSites; ++i) {
    const Site& site = all_sites()[i];
    std::uintptr_t address = site.return_address.load(std::memory_order_relaxed);
    if (address == 0) continue;
    Sums of_frames = snapshot(site.frames), of_others = snapshot(site.others);
    if (!shim_is_loaded()) of_frames = of_others;
    add(*frames, of_frames);
    add(*others, of_others);
    if (is_empty(of_frames)) continue;
    workspace->addresses[count] = address;
    workspace->lines[count] = {};
    workspace->rows[count++].sums = of_frames;
  }
  if (count > 0 && with_names && loaded_callsites() != nullptr) {
    loaded_callsites()->describe(workspace->addresses, count, workspace->lines);
  }
  std::size_t rows = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Row& row = workspace->rows[rows];
    row.sums = workspace->rows[i].sums;
    row.label = label_of(workspace->addresses[i], workspace->lines[i]);
    std::size_t same = 0;
    while (std::strcmp(workspace->rows[same].label.text, row.label.text) != 0) ++same;
    if (same == rows) {
      ++rows;
    } else {
      add(workspace->rows[same].sums, row.sums);
    }
  }
  return rows;
}

void put_slowest_first(std::size_t count) {
  Row* rows = workspace->rows;
  for (std::size_t i = 0; i < kShownRows && i < count; ++i) {
    std::size_t slowest = i;
    for (std::size_t j = i + 1; j < count; ++j) {
      if (rows[j].sums.nanoseconds > rows[slowest].sums.nanoseconds) slowest = j;
    }
    if (slowest == i) continue;
    Row row = rows[i];
    rows[i] = rows[slowest];
    rows[slowest] = row;
  }
}

struct Line {
  Cell cells[kColumns];
};

Line line_of(const Sums& sums) {
  return {{count_cell(sums.opens), count_cell(sums.hits), count_cell(sums.misses),
           count_cell(sums.reads), bytes_cell(sums.bytes), bytes_cell(sums.mapped),
           count_cell(sums.closes), time_cell(sums.nanoseconds)}};
}

void add_table(Text& text, std::size_t count, const Sums& total) {
  constexpr Line kHeader = {{{"OPENS"},
                             {"HITS"},
                             {"MISSES"},
                             {"READS"},
                             {"BYTES"},
                             {"MAPPED"},
                             {"CLOSES"},
                             {"TIME"}}};
  constexpr int kMapped = 5;
  Line widest = line_of(total);  // no figure of a row is longer
  auto add_line = [&](const Line& line, const char* label) {
    text.add("%s ", prefix);
    for (int i = 0; i < kColumns; ++i) {
      if (i == kMapped && total.mapped == 0) continue;
      std::size_t width = 8;
      if (std::strlen(widest.cells[i].text) > width) width = std::strlen(widest.cells[i].text);
      text.add(" %*s", static_cast<int>(width), line.cells[i].text);
    }
    text.add("  %s\n", label);
  };
  add_line(kHeader, "CALL SITE");
  for (std::size_t i = 0; i < count && i < kShownRows; ++i) {
    add_line(line_of(workspace->rows[i].sums), workspace->rows[i].label.text);
  }
  if (count <= kShownRows) return;
  Sums rest = {};
  for (std::size_t i = kShownRows; i < count; ++i) add(rest, workspace->rows[i].sums);
  char label[64];
  bool one = count == kShownRows + 1;
  ::snprintf(label, sizeof label, one ? "%s other call site" : "%s other call sites",
             count_cell(count - kShownRows).text);
  add_line(line_of(rest), label);
}

void add_count(Text& text, std::uint64_t number, const char* one, const char* many) {
  text.add("%s %s", count_cell(number).text, number == 1 ? one : many);
}

void add_sums(Text& text, const Sums& sums, bool with_hits) {
  add_count(text, sums.opens, "open", "opens");
  if (with_hits) {
    text.add(" (");
    add_count(text, sums.hits, "hit", "hits");
    text.add(", ");
    add_count(text, sums.misses, "miss", "misses");
    text.add(")");
  }
  text.add(", ");
  add_count(text, sums.reads, "read", "reads");
  text.add(", %s", bytes_cell(sums.bytes).text);
  if (sums.mapped != 0) text.add(", %s mapped", bytes_cell(sums.mapped).text);
  text.add(", in %s", time_cell(sums.nanoseconds).text);
}

void print(bool with_names) {
  ErrnoKeeper keep;
  ModeScope scope(Mode::kQuiet);
  Sums frames = {}, others = {};
  std::size_t rows = collect_rows(with_names, &frames, &others);
  if (rows == 0) return;
  put_slowest_first(rows);

  Text text(workspace->text, sizeof workspace->text);
  text.add("%szazen trace: %s[%d]: ", prefix, program_invocation_short_name, pid);
  add_sums(text, frames, shim_is_loaded());
  text.add(", by call site:\n");
  add_table(text, rows, frames);
  if (shim_is_loaded()) {
    text.add("%szazen trace: other files: ", prefix);
    add_sums(text, others, false);
    text.add("\n");
  }
  if (frame_files_are_full()) {
    text.add("%szazen trace: too many frames: reads of some are among the other files\n",
             prefix);
  }
  write_trace(text.begin(), text.size());
}

bool is_ours_to_print() {
  return active.load() && pid == ::getpid() && !printed.exchange(true);
}

void read_rank() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK"}) {
    const char* rank = ::secure_getenv(name);
    if (rank == nullptr || *rank == '\0' || std::strlen(rank) > 10) continue;
    ::snprintf(prefix, sizeof prefix, "rank %s: ", rank);
    return;
  }
}

}  // namespace

bool prepare_printout() {
  pid = ::getpid();
  read_rank();
  read_destination();
  workspace = static_cast<Workspace*>(zeroed_pages(sizeof(Workspace)));
  return workspace != nullptr;
}

void start_afresh_in_child() {
  pid = ::getpid();
  printed.store(false);
  forget_sites();
}

// The debug information is read with malloc, which a signal handler must not call.
void print_at_end() {
  if (is_ours_to_print()) print(!is_in_signal_handler());
}

void print_before_stderr_closes() {
  if (goes_to_stderr() && is_ours_to_print()) print(!is_in_signal_handler());
}

}  // namespace zazen::trace
