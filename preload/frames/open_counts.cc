#include "preload/frames/open_counts.h"

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/process/current_run.h"
#include "preload/process/reading_watch.h"
#include "preload/process/settings.h"

namespace zazen {

namespace {

// The result of the thread's last open of a frame: 1 a hit, 2 a miss; 0 none.
constinit thread_local int last_open __attribute__((tls_model("initial-exec"))) = 0;

constinit std::atomic<std::uint64_t> hits{0}, misses{0};

// The size of a file that was just opened: this asks no server again.
std::uint64_t size_of(int fd) {
  struct statx st;
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  return raw::statx(fd, "", kFlags, STATX_SIZE, &st) == 0 ? st.stx_size : 0;
}

// Counts each open, and the bytes of each frame once.
template <class Figures>
void add(Figures& figures, Source source, bool is_first, int fd) {
  bool local = source == Source::kCache;
  (local ? figures.hits : figures.misses).fetch_add(1, std::memory_order_relaxed);
  if (!is_first) return;
  (local ? figures.bytes_local : figures.bytes_origin)
      .fetch_add(size_of(fd), std::memory_order_relaxed);
}

void note_open(Ledger& ledger, const Route& route, int fd, Source source) {
  const std::uint32_t dataset = ledger.dataset_of(route.matcher->key, route.matcher->path);
  const bool is_first = ledger.note(dataset, route.seq, Ledger::kOpened);
  if (is_first) ledger.frames.fetch_add(1, std::memory_order_relaxed);
  add(ledger, source, is_first, fd);
}

}  // namespace

void count_opened(const Route& route, int fd, Source source) {
  last_open = source == Source::kCache ? 1 : 2;
  (source == Source::kCache ? hits : misses).fetch_add(1, std::memory_order_relaxed);
  if (route.node != nullptr) {
    DatasetCounters& counters = counters_of(*route.node).datasets[route.dataset];
    (source == Source::kCache ? counters.hits : counters.misses)
        .fetch_add(1, std::memory_order_relaxed);
  }
  if (route.view != nullptr) {
    const View& view = *route.view->view;
    Tally* tally = route.view->tally;
    const ViewDataset& dataset = view.datasets[route.view_dataset];
    const bool is_first = mark_opened(view, tally, dataset, route.seq);
    add(*tally, source, is_first || domain_index(view, dataset, route.seq) < 0, fd);
    if (is_first && reading_is_watched()) [[unlikely]]
      look_at_open(*route.view, route.view_dataset, route.seq);
  }
  if (route.is_companion()) return;
  RunRecord* run = settings.run.number == 0 ? nullptr : current_run();
  if (run != nullptr) note_open(run->ledger, route, fd, source);
  if (settings.ledger != nullptr && route.view == nullptr &&
      (run == nullptr || settings.ledger != &run->ledger)) {
    note_open(*settings.ledger, route, fd, source);
  }
}

void count_listed(const DatasetMatcher& matcher, FrameSeq seq) {
  Ledger& ledger = *settings.ledger;
  ledger.note(ledger.dataset_of(matcher.key, matcher.path), seq, Ledger::kListed);
}

OpenCounts opens_of_this_process() {
  return {hits.load(std::memory_order_relaxed), misses.load(std::memory_order_relaxed)};
}

}  // namespace zazen

// Returns each result once. For the tracing plug-in (trace/), which sees descriptors and not
// routes.
ZAZEN_HOOK int zazen_last_open() {
  int answer = zazen::last_open;
  zazen::last_open = 0;
  return answer;
}
