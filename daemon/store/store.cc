// A start (D22) serves at once. It believes the tables of a clean stop; after an unclean one it
// replays the logs, which takes a second for ten million frames. Then a Reconciliation compares
// the files in the background. It puts them into the identity index and, where the stop was not
// clean, learns their sizes. Until then the amount of held data is not known: the used space of
// the whole disk stands in for it, and nothing is evicted.
#include "daemon/store/store.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <limits>

#include "daemon/process/beneath.h"
#include "daemon/process/log.h"
#include "daemon/process/start_error.h"
#include "daemon/store/reconciliation.h"

namespace zazen {
namespace {

constexpr std::size_t kEvictChunk = 64;  // the NamesLock is released between two chunks

}  // namespace

// ---- Start and stop

Result<std::unique_ptr<Store>> Store::open(const Config& config, CacheDisk disk) {
  std::unique_ptr<Store> store(new Store(config, std::move(disk)));
  store->disk_.sweep();
  std::optional<CleanMark> mark = take_clean_mark(store->disk_.state_fd());
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    std::string below = config.datasets[i].path.substr(1);
    bool is_new =
        !open_beneath(store->disk_.root_fd(), below.c_str(), O_PATH).valid() && errno == ENOENT;
    Result<UniqueFd> directory =
        store->make_directory(config.datasets[i], flush_at_start(mark.has_value()));
    if (!directory.ok()) return directory.error();
    Result<bool> as_it_was =
        store->load(store->copies_.lock_names(), std::move(*directory), mark, is_new);
    if (!as_it_was.ok()) return as_it_was.error();
    store->stopped_cleanly_ = store->stopped_cleanly_ && *as_it_was;
  }
  return store;
}

Result<UniqueFd> Store::make_directory(const DatasetConfig& dataset, Flush flush) const {
  std::string below = dataset.path.substr(1);
  if (below == kCacheStateDirectory || below.starts_with(".zazen/")) {
    return Error{
        EINVAL, "dataset " + dataset.path + ": the cache keeps its own state there", {}};
  }
  // A flush of the dataset's directory does not cover its own name.
  UniqueFd directory = make_directory_beneath(disk_.root_fd(), below, flush);
  UniqueFd state;
  if (directory.valid()) {
    state = make_directory_beneath(directory.get(), kDatasetStateDirectory, flush);
  }
  if (!state.valid()) {
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

// ---- Room (D16, room_ledger.h)

Reservation Store::reserve(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes,
                           Wanted wanted, uid_t owner) {
  return reserve({dataset, kind, {bytes, 1}, wanted, owner_key(owner)});
}

int Store::reserve_more(Reservation& room, std::uint32_t dataset, FrameKind kind,
                        std::uint64_t bytes, Wanted wanted) {
  if (room.is_admitted() && wanted == Wanted::kNow) wanted = Wanted::kAdmitted;
  Reservation more = reserve({dataset, kind, {bytes, 0}, wanted, room.owner()});
  if (!more.valid()) return more.refusal();
  ledger_.merge(room, std::move(more));
  return 0;
}

Reservation Store::reserve(const Claim& claim) {
  const bool is_known = is_reconciled();
  Reservation reserved = try_reserve(claim);
  if (reserved.valid() || reserved.refusal() != 0) return reserved;
  return Reservation(is_known ? ENOSPC : not_reconciled().empty() ? EAGAIN : EIO);
}

Reservation Store::try_reserve(const Claim& claim) {
  if (claim.room.bytes > std::numeric_limits<std::uint64_t>::max() / 4) return {};
  const bool is_native = claim.kind == FrameKind::kNative;
  // Until then the size of an owner's natives is not known.
  if (is_native && config_.has_native_share() && !ledger_.wait_until_reconciled()) return {};
  // Most misses of a full cache end here, without a wait for the disk.
  EvictionPlan plan;
  Reservation reserved = ledger_.reserve(claim, &plan);
  if (reserved.valid() || reserved.refusal() != 0) return reserved;
  if (is_native ? !ledger_.wait_until_reconciled() : plan.from.empty()) return {};
  NamesLock names = copies_.lock_names();
  if (!ledger_.revise(claim, &plan)) return {};
  copies_.evict_for(names, plan);
  return ledger_.reserve_freed(claim);
}

int Store::allocate(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes, Wanted wanted,
                    const std::function<int()>& take) {
  const Claim claim{dataset, kind, {std::max<std::uint64_t>(bytes, 1), 1}, wanted};
  std::uint64_t synced = 0;  // before the last try
  auto attempt = [&] {
    synced = ledger_.evictions().synced;
    return take();
  };
  int code = attempt();
  bool has_waited = false;
  // The number of evicted aliens doubles each time: a sync for each would take hours.
  for (std::uint64_t wanted_gone = 1; is_out_of_room(code); wanted_gone *= 2) {
    std::uint64_t gone = 0;
    while (gone < wanted_gone && make_room(claim)) ++gone;
    if (gone > 0) code = attempt();
    if (!is_out_of_room(code)) break;
    // btrfs gives a quota's room back when it commits, so without a sync all aliens would be
    // evicted in vain. When no alien is left, a sync may still give back the room of earlier
    // evictions.
    if (gone == 0 && (std::exchange(has_waited, true) || !is_room_to_come(synced))) break;
    code = copies_.sync_evictions();
    if (code == 0) code = attempt();
  }
  health_.note(code);
  return code;
}

// True if room of evicted aliens may still come: the disk has not given it back, or has given
// it back since the caller read this number of synced evictions.
bool Store::is_room_to_come(std::uint64_t synced) const {
  const RoomLedger::Evictions now = ledger_.evictions();
  return now.all != now.synced || now.synced != synced;
}

// False if no alien was evicted.
bool Store::make_room(const Claim& claim) {
  if (!ledger_.wait_until_reconciled() || ledger_.is_giving_up()) return false;
  std::vector<std::uint32_t> from = ledger_.who_gives_way(claim);
  return !from.empty() &&
         copies_.evict_for(copies_.lock_names(), {claim.room, std::move(from)});
}

Store::Evicted Store::evict(std::uint32_t dataset, const Selection& selection) {
  const SelectedFrames selected = ledger_.select(dataset, selection);
  if (selection.dry_run) return {selected.amount, selected.pinned};
  Evicted evicted{{}, selected.pinned};
  for (std::span<const FrameSeq> rest = selected.frames; !rest.empty();) {
    std::size_t count = std::min(rest.size(), kEvictChunk);
    std::vector<FrameSeq> some(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    NamesLock names = copies_.lock_names();
    // An alien may have been pushed or pinned since it was chosen, and that was acknowledged.
    std::erase_if(some,
                  [&](FrameSeq seq) { return !ledger_.is_selected(dataset, seq, selection); });
    Amount gone = copies_.remove(names, dataset, some, false);
    evicted.gone.frames += gone.frames;
    evicted.gone.bytes += gone.bytes;
    rest = rest.subspan(count);
    ledger_.count_evictions(gone.frames);
  }
  // The caller reports the eviction, so a crash must not bring any copy back.
  evicted.status = copies_.sync_evictions();
  health_.note(evicted.status);
  return evicted;
}

int Store::pin(std::uint32_t dataset, FrameRange range, bool pinned, Amount* held) {
  NamesLock names = copies_.lock_names();  // nothing is evicted meanwhile
  Pins pins = ledger_.pins(dataset);
  pinned ? pins.pin(range) : pins.unpin(range);
  const DatasetFiles& files = copies_.dataset(dataset);
  Status saved = pins.save(files.directory.get(), *files.config);
  if (!saved.ok()) return saved.error().code;
  *held = ledger_.set_pins(names, dataset, std::move(pins), range);
  return 0;
}

}  // namespace zazen
