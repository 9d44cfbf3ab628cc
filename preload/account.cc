#include "preload/account.h"

#include "preload/raw.h"
#include "preload/reading_watch.h"
#include "preload/settings.h"

namespace zazen {

constinit thread_local int last_open = 0;

namespace {

constinit std::atomic<std::uint64_t> hits{0}, misses{0};

template <class Figures>
void add(Figures& figures, Source source, std::uint64_t bytes) {
  bool local = source == Source::kCache;
  (local ? figures.hits : figures.misses).fetch_add(1, std::memory_order_relaxed);
  (local ? figures.bytes_local : figures.bytes_origin)
      .fetch_add(bytes, std::memory_order_relaxed);
}

std::uint64_t size_of(int fd) {
  struct stat st;
  return raw::fstat(fd, &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
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
    add(*tally, source, size_of(fd));
    const bool is_first =
        mark_opened(view, tally, view.datasets[route.view_dataset], route.seq);
    if (is_first && reading_is_watched()) [[unlikely]]
      look_at_open(*route.view, route.view_dataset, route.seq);
  } else if (settings.ledger != nullptr && route.node != nullptr) {
    add(*settings.ledger, source, size_of(fd));
    settings.ledger->note(route.dataset, route.seq, Ledger::kOpened);
  }
}

void count_listed(std::uint32_t dataset, FrameSeq seq) {
  settings.ledger->note(dataset, seq, Ledger::kListed);
}

OpenCounts opens_of_this_process() {
  return {hits.load(std::memory_order_relaxed), misses.load(std::memory_order_relaxed)};
}

}  // namespace zazen
