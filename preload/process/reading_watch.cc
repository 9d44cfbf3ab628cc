#include "preload/process/reading_watch.h"

#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/division.h"
#include "preload/process/log.h"
#include "preload/process/reading_pattern.h"

namespace zazen {

constinit std::atomic<bool> watches_reading{false};

namespace {

constinit std::atomic<bool> is_busy{false};
ZAZEN_SELDOM_USED constinit ReadingPattern pattern;
ZAZEN_SELDOM_USED constinit const View* view_of_rank_0 = nullptr;
ZAZEN_SELDOM_USED constinit const Tally* tally_of_rank_0 = nullptr;

// The view of rank 0, if it is known that rank 0 has listed the dataset.
const View* rank_0_that_listed(std::uint32_t dataset) {
  if (view_of_rank_0 == nullptr) return nullptr;
  const bool has =
      tally_of_rank_0->datasets[dataset].listed.load(std::memory_order_relaxed) != 0;
  return has ? view_of_rank_0 : nullptr;
}

void end_watch() {
  watches_reading.store(false, std::memory_order_relaxed);
}

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

void watch_reading(bool does, const View* rank_0, const Tally* of_rank_0) {
  if (!does) return end_watch();
  view_of_rank_0 = rank_0;
  tally_of_rank_0 = of_rank_0;
  watches_reading.store(true, std::memory_order_relaxed);
}

void look_at_open(const CurrentView& current, std::uint32_t dataset, FrameSeq seq) {
  const View& view = *current.view;
  // A forked child reads a part of the rank's frames.
  if (is_busy.exchange(true) || view.owner_pid != raw_call(SYS_getpid)) {
    end_watch();
    return;
  }
  const char* path = view.datasets[dataset].path;
  const Pattern seen = pattern.note(view, current.tally, dataset, seq, &guard_depth,
                                    was_listed_early(path), rank_0_that_listed(dataset));
  if (pattern.is_over()) end_watch();
  if (seen != Pattern::kNone) warn(path, view.rank, view.ranks, seen);
  is_busy.store(false);
}

}  // namespace zazen
