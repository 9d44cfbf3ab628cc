// How a store starts and stops (D22).
//
// A start serves at once. It believes the tables of a clean stop; after an unclean one it
// replays the logs, which takes a second for ten million frames. Then a Reconciliation compares
// the files in the background. It puts them into the identity index and, where the stop was not
// clean, learns their sizes. Until then the amount of held data is not known: the used space of
// the whole disk stands in for it, and nothing is evicted.
#include "daemon/store/store.h"

#include <fcntl.h>
#include <sys/random.h>

#include "daemon/process/beneath.h"
#include "daemon/process/log.h"
#include "daemon/process/start_error.h"
#include "daemon/store/reconciliation.h"

namespace zazen {

Result<std::unique_ptr<Store>> Store::open(const Config& config, CacheDisk disk) {
  std::unique_ptr<Store> store(new Store(config, std::move(disk)));
  store->disk_.sweep();
  std::optional<CleanMark> mark = take_clean_mark(store->disk_.state_fd());
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    std::string below = config.datasets[i].path.substr(1);
    bool is_new =
        !open_beneath(store->disk_.root_fd(), below.c_str(), O_PATH).valid() && errno == ENOENT;
    Result<UniqueFd> directory = store->make_directory(config.datasets[i]);
    if (!directory.ok()) return directory.error();
    Result<bool> as_it_was =
        store->load(store->copies_.lock_names(), std::move(*directory), mark, is_new);
    if (!as_it_was.ok()) return as_it_was.error();
    store->stopped_cleanly_ = store->stopped_cleanly_ && *as_it_was;
  }
  return store;
}

Result<UniqueFd> Store::make_directory(const DatasetConfig& dataset) const {
  std::string below = dataset.path.substr(1);
  if (below == kCacheStateDirectory || below.starts_with(".zazen/")) {
    return Error{
        EINVAL, "dataset " + dataset.path + ": the cache keeps its own state there", {}};
  }
  UniqueFd directory = make_directory_beneath(disk_.root_fd(), below);
  UniqueFd state;
  if (directory.valid()) {
    state = make_directory_beneath(directory.get(), kDatasetStateDirectory);
  }
  // A flush of the dataset's directory does not cover its own name.
  if (!state.valid() || flush_directories_beneath(disk_.root_fd(), below) != 0) {
    return failed_call("cache directory of dataset " + dataset.path);
  }
  CacheDisk::sweep_state(state.get());
  return directory;
}

Result<bool> Store::load(const NamesLock& names, UniqueFd directory,
                         const std::optional<CleanMark>& mark, bool is_new) {
  const auto index = static_cast<std::uint32_t>(datasets());
  const DatasetConfig& config = config_.datasets[index];
  Result<LoadedDataset> loaded = load_dataset(config, std::move(directory), disk_.state_fd(),
                                              mark ? mark->stamp : 0, pending_, index);
  if (!loaded.ok()) return loaded.error();
  const bool as_it_was = is_new || (loaded->resumed && mark->reconciled);
  ledger_.add_dataset(names, index, std::move(loaded->held), as_it_was);
  for (FrameSeq seq : zazen::fetched_lately(loaded->files, loaded->logs.alien)) {
    std::optional<HeldFrame> held = find(index, seq);
    if (held && held->kind == FrameKind::kAlien) fetched_lately_.emplace_back(index, seq);
  }
  Result<Pins> pins = Pins::load(loaded->files.directory.get(), config);
  if (!pins.ok()) {
    log_line(LogLevel::kError, "pins_lost",
             {{"dataset", config.path}, {"error", pins.error().message()}});
  } else if (!pins->ranges().empty()) {
    ledger_.set_pins(names, index, std::move(*pins));
  }
  copies_.add_dataset(names, std::move(loaded->files), std::move(loaded->logs));
  return as_it_was;
}

Status Store::add_dataset(UniqueFd directory) {
  Result<bool> loaded = load(copies_.lock_names(), std::move(directory), std::nullopt, false);
  if (!loaded.ok()) return loaded.error();
  return Done{};
}

void Store::keep_limits() {
  NamesLock names = copies_.lock_names();
  // Before all is reconciled there is no plan: the last reconciliation makes it.
  if (std::optional<EvictionPlan> plan = ledger_.over_limits()) copies_.evict_for(names, *plan);
}

std::vector<FrameSeq> Store::reconcile(std::uint32_t dataset) {
  rights_.begin_index(dataset);
  return Reconciliation(copies_, ledger_, disk_, dataset).run();
}

void Store::stop_cleanly(bool trusted) {
  NamesLock names = copies_.lock_names();
  CleanMark mark;
  while (mark.stamp == 0 && ::getrandom(&mark.stamp, sizeof mark.stamp, 0) < 0) {
  }
  mark.reconciled = trusted && is_reconciled();
  int code = 0;
  for (std::uint32_t i = 0; i < datasets() && code == 0; ++i) {
    if (config_.datasets[i].removed) continue;  // nobody watches its copies
    const DatasetLogs& logs = copies_.logs(names, i);
    code =
        ledger_.seal(names, i, mark.stamp, logs.native.size_bytes(), logs.alien.size_bytes());
  }
  if (code == 0) code = sync_disk(disk_.root_fd());
  if (code == 0) code = leave_clean_mark(disk_.state_fd(), mark);
  if (code != 0) log_line(LogLevel::kWarn, "no_clean_mark", {{"error", std::strerror(code)}});
}

}  // namespace zazen
