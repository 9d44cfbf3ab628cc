#include "preload/reading_watch.h"

#include "preload/division.h"
#include "preload/guard.h"
#include "preload/hook.h"
#include "preload/log.h"
#include "preload/raw.h"
#include "preload/reading_pattern.h"

namespace zazen {

constinit std::atomic<bool> watches_reading{false};

namespace {

constinit std::atomic<bool> is_busy{false};
ZAZEN_SELDOM_USED constinit ReadingPattern pattern;

void warn(const char* path, int rank, int ranks, Pattern seen) {
  constexpr char kAdvice[] =
      "a program that divides the list itself must run with --no-divide (ZAZEN_FILTER=off)";
  if (seen == Pattern::kSkips) {
    say_line(
        "rank %d opens only one frame in %d of its listing of %s: the others may stay unread; "
        "%s",
        rank, ranks, path, kAdvice);
  } else if (seen == Pattern::kOpensOthers) {
    say_line(
        "rank %d opens frames of other ranks of %s, and leaves out its own: these may stay "
        "unread; %s",
        rank, path, kAdvice);
  } else {
    say_line(
        "rank %d reads the frames of all ranks of %s, which it listed before MPI_Init: "
        "each may be read by every rank; list after MPI_Init",
        rank, path);
  }
}

}  // namespace

void watch_reading(bool does) {
  watches_reading.store(does, std::memory_order_relaxed);
}

void look_at_open(const CurrentView& current, std::uint32_t dataset, FrameSeq seq) {
  const View& view = *current.view;
  // A forked child reads a part for the rank.
  if (is_busy.exchange(true) || view.owner_pid != raw_call(SYS_getpid)) {
    watch_reading(false);
    return;
  }
  const char* path = view.datasets[dataset].path;
  const Pattern seen =
      pattern.note(view, current.tally, dataset, seq, &guard_depth, was_listed_early(path));
  if (pattern.is_over()) watch_reading(false);
  if (seen != Pattern::kNone) warn(path, view.rank, view.ranks, seen);
  is_busy.store(false);
}

}  // namespace zazen
