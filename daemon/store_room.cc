// Room in the store: who gets it, and who gives way (D16, eviction.h).
#include <algorithm>
#include <limits>

#include "daemon/log.h"
#include "daemon/store.h"

namespace zazen {
namespace {

constexpr std::size_t kEvictChunk = 64;  // names_mutex_ is let go in between

std::uint64_t excess(std::uint64_t wanted, std::uint64_t limit) {
  return wanted > limit ? wanted - limit : 0;
}

}  // namespace

Room Store::deficit(Room wanted) const {
  Room need;
  DiskRoom room = disk_.room();
  // Until the sizes are known: not more than the whole disk holds.
  bool known = is_reconciled_locked();
  std::uint64_t held_bytes = known ? inventory_.total_bytes() : room.used_bytes;
  std::uint64_t held_files = known ? inventory_.total_files() : room.used_files;
  if (config_.capacity_bytes != 0) {
    need.bytes = excess(held_bytes + reserved_.bytes + wanted.bytes, config_.capacity_bytes);
  }
  if (config_.max_files != 0) {
    need.files = excess(held_files + reserved_.files + wanted.files, config_.max_files);
  }
  need.bytes =
      std::max(need.bytes, excess(unallocated_bytes_ + wanted.bytes + config_.keep_free_bytes,
                                  room.bytes));
  need.files = std::max(need.files, excess(wanted.files, room.files));
  return need;
}

// Without a capacity the share is one of what copies and free space are together.
std::uint64_t Store::native_share() const {
  if (config_.native_share_bytes != 0) return config_.native_share_bytes;
  std::uint64_t all = config_.capacity_bytes;
  if (all == 0) {
    const std::uint64_t there = inventory_.total_bytes() + disk_.room().bytes;
    all = excess(there, config_.keep_free_bytes);
  }
  return all / 100 * config_.native_share_percent;
}

bool Store::exceeds_share(OwnerKey owner, std::uint64_t bytes) const {
  if (!config_.has_native_share()) return false;
  auto reserved = reserved_natives_.find(owner);
  return inventory_.native_bytes_of(owner) + bytes +
             (reserved == reserved_natives_.end() ? 0 : reserved->second) >
         native_share();
}

int Store::refuse_share(std::uint32_t dataset) const {
  log_line(LogLevel::kWarn, "native_share_exceeded",
           {{"dataset", config_.datasets[dataset].path},
            {"share_bytes", std::to_string(native_share())},
            {"hint", "zazenctl evict --natives; or native_share in the configuration"}});
  return EDQUOT;
}

void Store::note_owner(uid_t owner) {
  constexpr std::size_t kMostOwners = 65'536;
  if (owner != kNoUser && owners_.size() < kMostOwners) owners_.insert(owner);
}

std::vector<uid_t> Store::owners() const {
  std::lock_guard lock(mutex_);
  return {owners_.begin(), owners_.end()};
}

int Store::assign(Reservation& room, std::uint32_t dataset, uid_t owner) {
  const OwnerKey key = owner_key(owner);
  std::lock_guard lock(mutex_);
  if (!room.native_of_ || *room.native_of_ == key) return 0;
  if (exceeds_share(key, room.room_.bytes)) return refuse_share(dataset);
  reserved_natives_[*room.native_of_] -= room.room_.bytes;
  reserved_natives_[key] += room.room_.bytes;
  room.native_of_ = key;
  return 0;
}

Reservation Store::hold(FrameKind kind, Room room, OwnerKey owner) {
  reserved_.bytes += room.bytes;
  reserved_.files += room.files;
  unallocated_bytes_ += room.bytes;
  if (kind == FrameKind::kAlien) return Reservation(this, room, std::nullopt);
  reserved_natives_[owner] += room.bytes;
  return Reservation(this, room, owner);
}

void Store::note_opens(std::uint64_t opens, std::span<const std::uint32_t> datasets) {
  std::lock_guard lock(mutex_);
  eviction_.note_opens(opens, datasets);
}

Reservation Store::reserve(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes,
                           Wanted wanted, uid_t owner) {
  return reserve_room(dataset, kind, {bytes, 1}, wanted, owner_key(owner));
}

int Store::reserve_more(Reservation& room, std::uint32_t dataset, FrameKind kind,
                        std::uint64_t bytes, Wanted wanted) {
  if (room.is_admitted_ && wanted == Wanted::kNow) wanted = Wanted::kAdmitted;
  Reservation more =
      reserve_room(dataset, kind, {bytes, 0}, wanted, room.native_of_.value_or(kUnknownOwner));
  if (!more.valid()) return more.refusal();
  std::lock_guard lock(mutex_);
  room.room_.bytes += more.room_.bytes;
  room.unallocated_bytes_ += more.unallocated_bytes_;
  room.is_admitted_ = room.is_admitted_ || more.is_admitted_;
  more.store_ = nullptr;
  return 0;
}

Reservation Store::reserve_room(std::uint32_t dataset, FrameKind kind, Room room, Wanted wanted,
                                OwnerKey owner) {
  const bool is_known = is_reconciled();
  Reservation reserved = try_reserve(dataset, kind, room, wanted, owner);
  if (reserved.valid() || reserved.refusal() != 0) return reserved;
  return Reservation(is_known ? ENOSPC : not_reconciled().empty() ? EAGAIN : EIO);
}

Reservation Store::try_reserve(std::uint32_t dataset, FrameKind kind, Room room, Wanted wanted,
                               OwnerKey owner) {
  if (room.bytes > std::numeric_limits<std::uint64_t>::max() / 4) return {};
  const bool is_native = kind == FrameKind::kNative;
  // Until then nobody knows what an owner's natives take.
  if (is_native && config_.has_native_share() && !wait_until_reconciled()) return {};
  std::vector<std::uint32_t> from;
  {
    // Most misses of a full cache end here, without waiting for the disk.
    std::lock_guard lock(mutex_);
    if (is_native || wanted == Wanted::kLater) eviction_.note_use(dataset);
    if (is_native && exceeds_share(owner, room.bytes))
      return Reservation(refuse_share(dataset));
    Room need = deficit(room);
    if (need.none()) return hold(kind, room, owner);
    if (!is_native) {
      if (is_reconciled_locked()) from = who_gives_way(dataset, kind, need, wanted);
      if (from.empty()) return {};
    }
  }
  if (is_native && !wait_until_reconciled()) return {};
  std::lock_guard names(names_mutex_);
  std::unique_lock lock(mutex_);
  Room need = deficit(room);
  if (is_native && !need.none()) {
    from = who_gives_way(dataset, kind, need, wanted, owner);
    if (from.empty()) return {};
  }
  lock.unlock();
  evict_for(need, from);
  lock.lock();
  if (!deficit(room).none()) return {};
  if (is_native && exceeds_share(owner, room.bytes)) return Reservation(refuse_share(dataset));
  Reservation reserved = hold(kind, room, owner);
  reserved.is_admitted_ = true;
  return reserved;
}

int Store::allocate(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes, Wanted wanted,
                    const std::function<int()>& take) {
  std::uint64_t synced = 0;  // before the last try
  auto attempt = [&] {
    std::unique_lock lock(mutex_);
    synced = synced_evictions_;
    lock.unlock();
    return take();
  };
  int code = attempt();
  bool has_waited = false;
  // Twice as many aliens each time: a sync for each would take hours.
  for (std::uint64_t wanted_gone = 1; is_out_of_room(code); wanted_gone *= 2) {
    std::uint64_t gone = 0;
    while (gone < wanted_gone && make_room(dataset, kind, bytes, wanted)) ++gone;
    if (gone > 0) code = attempt();
    if (!is_out_of_room(code)) break;
    // btrfs gives a quota's room back when it commits; else all aliens would go for nothing.
    // When none is left, those that went for others may have made more room than they took.
    if (gone == 0 && (std::exchange(has_waited, true) || !is_room_to_come(synced))) break;
    code = sync_evictions();
    if (code == 0) code = attempt();
  }
  health_.note(code);
  return code;
}

// Room of aliens that went, which the disk has not given back yet, or only after somebody saw
// `synced_evictions_` at this value.
bool Store::is_room_to_come(std::uint64_t synced) const {
  std::lock_guard lock(mutex_);
  return evictions_ != synced_evictions_ || synced_evictions_ != synced;
}

int Store::sync_evictions() {
  std::unique_lock lock(mutex_);
  const std::uint64_t evictions = evictions_;
  if (evictions == synced_evictions_) return 0;
  lock.unlock();
  DiskHealth::Operation operation(health_);
  const int code = disk_.sync();
  lock.lock();
  if (code == 0) synced_evictions_ = std::max(synced_evictions_, evictions);
  return code;
}

// False if no alien went.
bool Store::make_room(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes,
                      Wanted wanted) {
  if (!wait_until_reconciled() || giving_up_) return false;
  Room need{std::max<std::uint64_t>(bytes, 1), 1};
  std::unique_lock lock(mutex_);
  std::vector<std::uint32_t> from = who_gives_way(dataset, kind, need, wanted);
  lock.unlock();
  if (from.empty()) return false;
  std::lock_guard names(names_mutex_);
  return evict_for(need, from);
}

std::vector<std::uint32_t> Store::who_gives_way(std::uint32_t dataset, FrameKind kind,
                                                Room need, Wanted wanted, OwnerKey owner) {
  std::vector<Room> all;
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) all.push_back(evictable(i));
  std::vector<std::uint32_t> from = eviction_.who_gives_way(dataset, kind, need, all, wanted);
  if (kind == FrameKind::kAlien || owner == kUnknownOwner) return from;
  // The owner's own aliens go before those of others.
  std::ranges::stable_partition(from, [&](std::uint32_t i) {
    const FrameTable& aliens = inventory_.table(i, FrameKind::kAlien);
    return aliens.bytes_of(owner) > aliens.bytes() / 2;
  });
  return from;
}

Room Store::evictable(std::uint32_t dataset) const {
  const Room& pinned = pins_[dataset].held_aliens();
  const FrameTable& aliens = inventory_.table(dataset, FrameKind::kAlien);
  return {excess(aliens.bytes(), pinned.bytes), excess(aliens.size(), pinned.files)};
}

bool Store::evict_for(Room need, std::span<const std::uint32_t> from) {
  bool any = false;
  for (std::uint32_t dataset : from) {
    while (!need.none()) {
      std::optional<FrameSeq> victim = choose_victim(dataset);
      if (!victim) break;
      Amount gone = remove(dataset, std::span(&*victim, 1), false);
      if (gone.frames == 0) break;  // the disk does not let it go
      need.bytes = excess(need.bytes, gone.bytes);
      need.files = excess(need.files, gone.frames);
      any = true;
      std::lock_guard lock(mutex_);
      evictions_ += gone.frames;
    }
  }
  return any;
}

std::optional<FrameSeq> Store::choose_victim(std::uint32_t dataset) {
  constexpr int kTries = 64;
  {
    std::lock_guard lock(mutex_);
    if (evictable(dataset).files == 0) return std::nullopt;
    for (int i = 0; i < kTries; ++i) {
      std::optional<FrameSeq> seq = inventory_.random_alien(dataset, eviction_.random());
      if (seq && !pins_[dataset].contains(*seq)) return seq;
    }
  }
  // Nearly all are pinned.
  for (const StoredFrame& frame : list(dataset)) {
    if (!frame.pinned && frame.held.kind == FrameKind::kAlien) return frame.seq;
  }
  return std::nullopt;
}

// Since it was chosen an alien may have been pushed, which was acknowledged, or pinned.
bool Store::is_selected(std::uint32_t dataset, FrameSeq seq, const Selection& selection) const {
  std::lock_guard lock(mutex_);
  std::optional<HeldFrame> held = inventory_.find(dataset, seq);
  return held && (held->kind == FrameKind::kNative ? selection.natives : selection.aliens) &&
         !pins_[dataset].contains(seq);
}

Store::Evicted Store::evict(std::uint32_t dataset, const Selection& selection) {
  std::vector<FrameSeq> chosen;
  Evicted evicted;
  Amount& amount = evicted.gone;
  // Aliens first: one that is pushed meanwhile is then met among the natives, or among both.
  for (FrameKind kind : {FrameKind::kAlien, FrameKind::kNative}) {
    if (!(kind == FrameKind::kNative ? selection.natives : selection.aliens)) continue;
    const std::size_t chosen_before = chosen.size();
    const Evicted evicted_before = evicted;
    inventory_.table(dataset, kind)
        .look_at_all(
            mutex_,
            [&] {
              chosen.resize(chosen_before);
              evicted = evicted_before;
            },
            [&](FrameSeq seq, std::uint64_t bytes) {
              if (seq < selection.first || seq > selection.last) return;
              if (pins_[dataset].contains(seq)) {
                ++evicted.pinned;
                return;
              }
              chosen.push_back(seq);
              amount.frames += 1;
              amount.bytes += bytes == FrameTable::kUnknown ? 0 : bytes;
            });
  }
  if (selection.dry_run) return evicted;
  amount = {};
  std::sort(chosen.begin(), chosen.end());
  std::span<const FrameSeq> rest = chosen;
  while (!rest.empty()) {
    std::size_t count = std::min(rest.size(), kEvictChunk);
    std::vector<FrameSeq> some(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    std::lock_guard names(names_mutex_);
    std::erase_if(some, [&](FrameSeq seq) { return !is_selected(dataset, seq, selection); });
    Amount gone = remove(dataset, some, false);
    amount.frames += gone.frames;
    amount.bytes += gone.bytes;
    rest = rest.subspan(count);
    std::lock_guard lock(mutex_);
    evictions_ += gone.frames;
  }
  // The caller tells somebody of it: after a crash none of them is back.
  evicted.status = sync_evictions();
  health_.note(evicted.status);
  return evicted;
}

int Store::pin(std::uint32_t dataset, FrameRange range, bool pinned, Amount* held) {
  std::lock_guard names(names_mutex_);  // so that nothing is evicted meanwhile
  std::unique_lock lock(mutex_);
  Pins changed = pins_[dataset];
  lock.unlock();
  pinned ? changed.pin(range) : changed.unpin(range);
  Status saved = changed.save(files_[dataset].directory.get());
  if (!saved.ok()) return saved.error().code;
  *held = recount(dataset, range, changed);
  lock.lock();
  pins_[dataset] = std::move(changed);
  return 0;
}

void Store::load_pins(std::uint32_t dataset) {
  Result<Pins> pins = Pins::load(files_[dataset].directory.get());
  if (pins.ok()) {
    if (!pins->ranges().empty()) recount(dataset, {}, *pins);
    std::lock_guard lock(mutex_);
    pins_[dataset] = std::move(*pins);
  } else {
    log_line(LogLevel::kError, "pins_lost",
             {{"dataset", config_.datasets[dataset].path}, {"error", pins.error().message()}});
  }
}

Amount Store::recount(std::uint32_t dataset, FrameRange range, Pins& pins) const {
  Amount inside;
  pins.start_counting();
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    const Pins counted = pins;
    const Amount before = inside;
    inventory_.table(dataset, kind)
        .look_at_all(
            mutex_,
            [&] {
              pins = counted;
              inside = before;
            },
            [&](FrameSeq seq, std::uint64_t size) {
              std::uint64_t bytes = size == FrameTable::kUnknown ? 0 : size;
              pins.count(seq, kind, bytes);
              if (!range.contains(seq)) return;
              inside.frames += 1;
              inside.bytes += bytes;
            });
  }
  return inside;
}

void Store::take_in(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes,
                    OwnerKey owner) {
  let_go(dataset, seq);
  inventory_.add(dataset, seq, kind, bytes, owner);
  pins_[dataset].count(seq, kind, bytes);
}

void Store::let_go(std::uint32_t dataset, FrameSeq seq) {
  std::optional<HeldFrame> held = inventory_.find(dataset, seq);
  if (!held) return;
  inventory_.remove(dataset, seq);
  pins_[dataset].discount(seq, held->kind, held->bytes);
}

}  // namespace zazen
