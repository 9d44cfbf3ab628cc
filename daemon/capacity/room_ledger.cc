#include "daemon/capacity/room_ledger.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <random>
#include <utility>

#include "daemon/process/log.h"

namespace zazen {
namespace {

// Aliens first: a frame that is pushed during a walk then appears among the natives, or among
// both.
constexpr FrameKind kAliensFirst[] = {FrameKind::kAlien, FrameKind::kNative};

std::uint64_t known(std::uint64_t bytes) {
  return bytes == FrameTable::kUnknown ? 0 : bytes;
}

}  // namespace

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  Reservation taken(std::move(other));
  swap(taken);
  return *this;
}

void Reservation::swap(Reservation& other) noexcept {
  std::swap(ledger_, other.ledger_);
  std::swap(room_, other.room_);
  std::swap(unallocated_bytes_, other.unallocated_bytes_);
  std::swap(native_of_, other.native_of_);
  std::swap(is_admitted_, other.is_admitted_);
  std::swap(refusal_, other.refusal_);
}

Reservation::~Reservation() {
  if (ledger_ != nullptr) ledger_->release(RoomLedger::Lock(ledger_->mutex_), *this);
}

void Reservation::allocated() {
  if (ledger_ == nullptr) return;
  RoomLedger::Lock lock(ledger_->mutex_);
  ledger_->unallocated_bytes_ -= std::exchange(unallocated_bytes_, 0);
}

void RoomLedger::add_dataset(const NamesLock&, std::uint32_t dataset, HeldTables held,
                             bool is_reconciled) {
  Lock lock(mutex_);
  inventory_.set_dataset(dataset, std::move(held));
  unreconciled_[dataset] = !is_reconciled;
}

std::optional<HeldFrame> RoomLedger::find(std::uint32_t dataset, FrameSeq seq) const {
  Lock lock(mutex_);
  return inventory_.find(dataset, seq);
}

StoreUsage RoomLedger::usage() const {
  Lock lock(mutex_);
  StoreUsage usage{inventory_.total_bytes(), inventory_.total_files(), evictions_.all, {}};
  for (std::uint32_t i = 0; i < inventory_.datasets(); ++i) {
    usage.datasets.push_back({inventory_.files(i, FrameKind::kNative),
                              inventory_.files(i, FrameKind::kAlien), inventory_.bytes(i),
                              pins_[i].held().files, pins_[i].ranges()});
  }
  return usage;
}

std::uint64_t RoomLedger::files(std::uint32_t dataset, FrameKind kind) const {
  Lock lock(mutex_);
  return inventory_.files(dataset, kind);
}

std::vector<FrameSeq> RoomLedger::frames(std::uint32_t dataset, FrameKind kind) const {
  std::vector<FrameSeq> frames;
  inventory_.table(dataset, kind)
      .look_at_all(
          mutex_, [&] { frames.clear(); },
          [&](FrameSeq seq, std::uint64_t) { frames.push_back(seq); });
  std::sort(frames.begin(), frames.end());
  return frames;
}

std::vector<StoredFrame> RoomLedger::list(std::uint32_t dataset) const {
  std::vector<StoredFrame> frames;
  for (FrameKind kind : kAliensFirst) {
    const std::size_t before = frames.size();
    inventory_.table(dataset, kind)
        .look_at_all(
            mutex_, [&] { frames.resize(before); },
            [&](FrameSeq seq, std::uint64_t bytes) {
              frames.push_back(
                  {dataset, seq, {kind, known(bytes)}, pins_[dataset].contains(seq)});
            });
  }
  auto order = [](const StoredFrame& frame) {
    return std::pair(frame.seq, frame.held.kind != FrameKind::kNative);
  };
  std::ranges::sort(frames, {}, order);
  auto is_same = [](const StoredFrame& one, const StoredFrame& other) {
    return one.seq == other.seq;
  };
  frames.erase(std::unique(frames.begin(), frames.end(), is_same), frames.end());
  return frames;
}

std::vector<FrameSeq> RoomLedger::frames_from(std::uint32_t dataset, FrameSeq first,
                                              std::size_t limit) const {
  std::vector<FrameSeq> frames;
  for (FrameKind kind : kAliensFirst) {
    std::priority_queue<FrameSeq> lowest;
    inventory_.table(dataset, kind)
        .look_at_all(
            mutex_, [&] { lowest = {}; },
            [&](FrameSeq seq, std::uint64_t) {
              if (seq < first) return;
              lowest.push(seq);
              if (lowest.size() > limit) lowest.pop();
            });
    for (; !lowest.empty(); lowest.pop()) frames.push_back(lowest.top());
  }
  std::sort(frames.begin(), frames.end());
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  if (frames.size() > limit) frames.resize(limit);
  return frames;
}

// The walk for the first and the last frame releases the lock between its parts. Frames that
// come or go meanwhile do not matter.
std::vector<FrameSeq> RoomLedger::sample(std::uint32_t dataset, std::size_t at_random) const {
  constexpr FrameKind kKinds[] = {FrameKind::kNative, FrameKind::kAlien};
  std::mt19937_64 random(std::random_device{}());
  FrameSeq first = std::numeric_limits<FrameSeq>::max(), last = 0;
  for (FrameKind kind : kKinds) {
    if (auto extent = inventory_.table(dataset, kind).extent(mutex_)) {
      first = std::min(first, extent->first);
      last = std::max(last, extent->last);
    }
  }
  std::set<FrameSeq> chosen;
  Lock lock(mutex_);
  for (std::optional<FrameSeq> seq :
       {std::optional(first), std::optional(last), inventory_.newest(dataset)}) {
    if (seq && inventory_.find(dataset, *seq)) chosen.insert(*seq);
  }
  std::uint64_t natives = inventory_.files(dataset, FrameKind::kNative);
  std::uint64_t held = natives + inventory_.files(dataset, FrameKind::kAlien);
  if (held <= 4 * at_random) {
    std::vector<FrameSeq> all;
    for (FrameKind kind : kKinds) {
      inventory_.table(dataset, kind).for_each([&](FrameSeq seq, std::uint64_t) {
        all.push_back(seq);
      });
    }
    std::sample(all.begin(), all.end(), std::inserter(chosen, chosen.end()), at_random, random);
    return {chosen.begin(), chosen.end()};
  }
  std::size_t wanted = chosen.size() + at_random;
  while (chosen.size() < wanted) {
    FrameKind kind = random() % held < natives ? FrameKind::kNative : FrameKind::kAlien;
    chosen.insert(*inventory_.table(dataset, kind).random(random));
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<FrameSeq> RoomLedger::next(FrameCursor& turn, std::uint32_t dataset) const {
  Lock lock(mutex_);
  return turn.next({&inventory_.table(dataset, FrameKind::kNative),
                    &inventory_.table(dataset, FrameKind::kAlien)});
}

std::vector<uid_t> RoomLedger::owners() const {
  Lock lock(mutex_);
  return {owners_.begin(), owners_.end()};
}

void RoomLedger::note_owner(const Lock&, uid_t owner) {
  constexpr std::size_t kMostOwners = 65'536;
  if (owner != kNoUser && owners_.size() < kMostOwners) owners_.insert(owner);
}

void RoomLedger::add(const Lock& lock, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
                     std::uint64_t bytes, uid_t owner) {
  remove(lock, dataset, seq);
  inventory_.add(dataset, seq, kind, bytes, owner_key(owner));
  pins_[dataset].count(seq, kind, bytes);
  note_owner(lock, owner);
}

std::optional<HeldFrame> RoomLedger::remove(const Lock&, std::uint32_t dataset, FrameSeq seq) {
  std::optional<HeldFrame> held = inventory_.find(dataset, seq);
  if (!held) return held;
  inventory_.remove(dataset, seq);
  pins_[dataset].discount(seq, held->kind, held->bytes);
  return held;
}

void RoomLedger::add_held(const NamesLock&, std::uint32_t dataset, FrameSeq seq, FrameKind kind,
                          std::uint64_t bytes, uid_t owner, Reservation room) {
  Lock lock(mutex_);
  release(lock, room);
  add(lock, dataset, seq, kind, bytes, owner);
}

std::optional<HeldFrame> RoomLedger::remove_held(const NamesLock&, std::uint32_t dataset,
                                                 FrameSeq seq) {
  return remove(Lock(mutex_), dataset, seq);
}

void RoomLedger::learn(const NamesLock&, std::uint32_t dataset, FrameSeq seq,
                       std::uint64_t bytes, uid_t owner) {
  Lock lock(mutex_);
  inventory_.learn(dataset, seq, bytes, owner_key(owner));
  note_owner(lock, owner);
}

void RoomLedger::take_in_found(const NamesLock&, std::uint32_t dataset, FrameSeq seq,
                               FrameKind kind, std::uint64_t bytes, uid_t owner) {
  Lock lock(mutex_);
  note_owner(lock, owner);
  std::optional<HeldFrame> held = inventory_.find(dataset, seq);
  if (held && held->kind != kind) {
    add(lock, dataset, seq, kind, bytes, owner);
  } else if (!held || !inventory_.knows_size(dataset, seq)) {
    inventory_.table(dataset, kind).set(seq, bytes, owner_key(owner));
  }
}

int RoomLedger::seal(const NamesLock&, std::uint32_t dataset, std::uint64_t stamp,
                     std::uint64_t native_log_bytes, std::uint64_t alien_log_bytes) {
  Lock lock(mutex_);
  const std::optional<FrameSeq> newest = inventory_.newest(dataset);
  return std::max(
      inventory_.table(dataset, FrameKind::kNative).seal({stamp, native_log_bytes, newest}),
      inventory_.table(dataset, FrameKind::kAlien).seal({stamp, alien_log_bytes, newest}));
}

Room RoomLedger::deficit(const Lock& lock, Room wanted) const {
  Room need;
  DiskRoom room = disk_.room();
  // Until the sizes are known, the bytes that are used on the whole disk are the upper bound.
  bool is_known = is_reconciled(lock);
  std::uint64_t held_bytes = is_known ? inventory_.total_bytes() : room.used_bytes;
  std::uint64_t held_files = is_known ? inventory_.total_files() : room.used_files;
  if (config_.capacity_bytes != 0) {
    need.bytes = excess(held_bytes + reserved_.bytes + wanted.bytes, config_.capacity_bytes);
  }
  if (config_.max_files != 0) {
    need.files = excess(held_files + reserved_.files + wanted.files, config_.max_files);
  }
  const std::uint64_t keep_free = config_.keep_free(room.disk_bytes);
  need.bytes =
      std::max(need.bytes, excess(unallocated_bytes_ + wanted.bytes + keep_free, room.bytes));
  need.files = std::max(need.files, excess(wanted.files, room.files));
  return need;
}

// Without a capacity the share is a share of the copies and the free space together.
std::uint64_t RoomLedger::native_share(const Lock&) const {
  if (config_.native_share_bytes != 0) return config_.native_share_bytes;
  std::uint64_t all = config_.capacity_bytes;
  if (all == 0) {
    const DiskRoom room = disk_.room();
    all = excess(inventory_.total_bytes() + room.bytes, config_.keep_free(room.disk_bytes));
  }
  return all / 100 * config_.native_share_percent;
}

bool RoomLedger::exceeds_share(const Lock& lock, OwnerKey owner, std::uint64_t bytes) const {
  if (!config_.has_native_share()) return false;
  auto reserved = reserved_natives_.find(owner);
  return inventory_.native_bytes_of(owner) + bytes +
             (reserved == reserved_natives_.end() ? 0 : reserved->second) >
         native_share(lock);
}

int RoomLedger::refuse_share(Lock& lock, std::uint32_t dataset) const {
  const std::uint64_t share_bytes = native_share(lock);
  lock.unlock();
  log_line(LogLevel::kWarn, "native_share_exceeded",
           {{"dataset", config_.datasets[dataset].path},
            {"share_bytes", std::to_string(share_bytes)},
            {"hint", "zazenctl evict --pushed; or native_share in the configuration"}});
  return EDQUOT;
}

int RoomLedger::check_share(std::uint32_t dataset, OwnerKey owner, std::uint64_t bytes) const {
  Lock lock(mutex_);
  return exceeds_share(lock, owner, bytes) ? refuse_share(lock, dataset) : 0;
}

void RoomLedger::note_fills(std::uint64_t fills, std::span<const std::uint32_t> datasets) {
  Lock lock(mutex_);
  eviction_.note_fills(fills, datasets);
}

Reservation RoomLedger::hold(const Lock&, const Claim& claim) {
  reserved_.bytes += claim.room.bytes;
  reserved_.files += claim.room.files;
  unallocated_bytes_ += claim.room.bytes;
  if (claim.kind == FrameKind::kAlien) return Reservation(this, claim.room, std::nullopt);
  reserved_natives_[claim.owner] += claim.room.bytes;
  return Reservation(this, claim.room, claim.owner);
}

void RoomLedger::release(const Lock&, Reservation& room) {
  if (std::exchange(room.ledger_, nullptr) == nullptr) return;
  unallocated_bytes_ -= room.unallocated_bytes_;
  reserved_.bytes -= room.room_.bytes;
  reserved_.files -= room.room_.files;
  if (room.native_of_) reserved_natives_[*room.native_of_] -= room.room_.bytes;
}

Reservation RoomLedger::reserve(const Claim& claim, EvictionPlan* plan) {
  const bool is_native = claim.kind == FrameKind::kNative;
  Lock lock(mutex_);
  if (is_native || claim.wanted == Wanted::kLater) eviction_.note_use(claim.dataset);
  if (is_native && exceeds_share(lock, claim.owner, claim.room.bytes)) {
    return Reservation(refuse_share(lock, claim.dataset));
  }
  plan->need = deficit(lock, claim.room);
  if (plan->need.none()) return hold(lock, claim);
  if (!is_native && is_reconciled(lock)) plan->from = who_gives_way(lock, claim, plan->need);
  return {};
}

bool RoomLedger::revise(const Claim& claim, EvictionPlan* plan) {
  Lock lock(mutex_);
  plan->need = deficit(lock, claim.room);
  if (claim.kind == FrameKind::kAlien || plan->need.none()) return true;
  plan->from = who_gives_way(lock, claim, plan->need);
  return !plan->from.empty();
}

Reservation RoomLedger::reserve_freed(const Claim& claim) {
  Lock lock(mutex_);
  if (!deficit(lock, claim.room).none()) return {};
  if (claim.kind == FrameKind::kNative && exceeds_share(lock, claim.owner, claim.room.bytes)) {
    return Reservation(refuse_share(lock, claim.dataset));
  }
  Reservation reserved = hold(lock, claim);
  reserved.is_admitted_ = true;
  return reserved;
}

int RoomLedger::assign(Reservation& room, std::uint32_t dataset, uid_t owner) {
  const OwnerKey key = owner_key(owner);
  Lock lock(mutex_);
  if (!room.native_of_ || *room.native_of_ == key) return 0;
  if (exceeds_share(lock, key, room.room_.bytes)) return refuse_share(lock, dataset);
  reserved_natives_[*room.native_of_] -= room.room_.bytes;
  reserved_natives_[key] += room.room_.bytes;
  room.native_of_ = key;
  return 0;
}

void RoomLedger::merge(Reservation& room, Reservation more) {
  Lock lock(mutex_);
  room.room_.bytes += more.room_.bytes;
  room.unallocated_bytes_ += more.unallocated_bytes_;
  room.is_admitted_ = room.is_admitted_ || more.is_admitted_;
  more.ledger_ = nullptr;
}

std::vector<std::uint32_t> RoomLedger::who_gives_way(const Claim& claim) {
  return who_gives_way(Lock(mutex_), claim, claim.room);
}

std::vector<std::uint32_t> RoomLedger::who_gives_way(const Lock& lock, const Claim& claim,
                                                     Room need) {
  std::vector<Room> all;
  for (std::uint32_t i = 0; i < kMaxDatasets; ++i) all.push_back(evictable(lock, i));
  std::vector<std::uint32_t> from =
      eviction_.who_gives_way(claim.dataset, claim.kind, need, all, claim.wanted);
  if (claim.kind == FrameKind::kAlien || claim.owner == kUnknownOwner) return from;
  // The owner's own aliens go before those of others.
  std::stable_partition(from.begin(), from.end(), [&](std::uint32_t i) {
    const FrameTable& aliens = inventory_.table(i, FrameKind::kAlien);
    return aliens.bytes_of(claim.owner) > aliens.bytes() / 2;
  });
  return from;
}

Room RoomLedger::evictable(const Lock&, std::uint32_t dataset) const {
  const Room& pinned = pins_[dataset].held_aliens();
  const FrameTable& aliens = inventory_.table(dataset, FrameKind::kAlien);
  return {excess(aliens.bytes(), pinned.bytes), excess(aliens.size(), pinned.files)};
}

std::optional<EvictionPlan> RoomLedger::over_limits() const {
  Lock lock(mutex_);
  if (!is_reconciled(lock)) return std::nullopt;
  return EvictionPlan{deficit(lock, {}), eviction_.longest_unused_first()};
}

std::optional<FrameSeq> RoomLedger::choose_victim(std::uint32_t dataset) {
  constexpr int kTries = 64;
  {
    Lock lock(mutex_);
    if (evictable(lock, dataset).files == 0) return std::nullopt;
    for (int i = 0; i < kTries; ++i) {
      std::optional<FrameSeq> seq = inventory_.random_alien(dataset, eviction_.random());
      if (seq && !pins_[dataset].contains(*seq)) return seq;
    }
  }
  // Nearly all frames are pinned.
  for (const StoredFrame& frame : list(dataset)) {
    if (!frame.pinned && frame.held.kind == FrameKind::kAlien) return frame.seq;
  }
  return std::nullopt;
}

SelectedFrames RoomLedger::select(std::uint32_t dataset,
                                  const FrameSelection& selection) const {
  SelectedFrames selected;
  for (FrameKind kind : kAliensFirst) {
    if (!(kind == FrameKind::kNative ? selection.natives : selection.aliens)) continue;
    const std::size_t frames_before = selected.frames.size();
    const Amount amount_before = selected.amount;
    const std::uint64_t pinned_before = selected.pinned;
    inventory_.table(dataset, kind)
        .look_at_all(
            mutex_,
            [&] {
              selected.frames.resize(frames_before);
              selected.amount = amount_before;
              selected.pinned = pinned_before;
            },
            [&](FrameSeq seq, std::uint64_t bytes) {
              if (seq < selection.first || seq > selection.last) return;
              if (pins_[dataset].contains(seq)) {
                ++selected.pinned;
                return;
              }
              selected.frames.push_back(seq);
              selected.amount.frames += 1;
              selected.amount.bytes += known(bytes);
            });
  }
  std::sort(selected.frames.begin(), selected.frames.end());
  return selected;
}

bool RoomLedger::is_selected(std::uint32_t dataset, FrameSeq seq,
                             const FrameSelection& selection) const {
  Lock lock(mutex_);
  std::optional<HeldFrame> held = inventory_.find(dataset, seq);
  return held && (held->kind == FrameKind::kNative ? selection.natives : selection.aliens) &&
         !pins_[dataset].contains(seq);
}

RoomLedger::Evictions RoomLedger::evictions() const {
  Lock lock(mutex_);
  return evictions_;
}

void RoomLedger::count_evictions(std::uint64_t frames) {
  Lock lock(mutex_);
  evictions_.all += frames;
}

void RoomLedger::note_synced(std::uint64_t evictions) {
  Lock lock(mutex_);
  evictions_.synced = std::max(evictions_.synced, evictions);
}

Pins RoomLedger::pins(std::uint32_t dataset) const {
  Lock lock(mutex_);
  return pins_[dataset];
}

Amount RoomLedger::set_pins(const NamesLock&, std::uint32_t dataset, Pins pins,
                            FrameRange range) {
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
            [&](FrameSeq seq, std::uint64_t bytes) {
              pins.count(seq, kind, known(bytes));
              if (!range.contains(seq)) return;
              inside.frames += 1;
              inside.bytes += known(bytes);
            });
  }
  Lock lock(mutex_);
  pins_[dataset] = std::move(pins);
  return inside;
}

bool RoomLedger::is_reconciled(const Lock&) const {
  return std::none_of(unreconciled_.begin(), unreconciled_.end(), [](bool one) { return one; });
}

bool RoomLedger::is_reconciled() const {
  return is_reconciled(Lock(mutex_));
}

bool RoomLedger::is_reconciled(std::uint32_t dataset) const {
  Lock lock(mutex_);
  return !unreconciled_[dataset];
}

bool RoomLedger::wait_until_reconciled() {
  Lock lock(mutex_);
  reconciled_.wait(lock, [&] { return giving_up_ || !stuck_.empty() || is_reconciled(lock); });
  return is_reconciled(lock);
}

std::set<std::uint32_t> RoomLedger::not_reconciled() const {
  Lock lock(mutex_);
  return stuck_;
}

void RoomLedger::note_not_reconciled(std::uint32_t dataset) {
  Lock lock(mutex_);
  stuck_.insert(dataset);
  reconciled_.notify_all();
}

void RoomLedger::note_reconciled(const NamesLock&, std::uint32_t dataset,
                                 std::optional<FrameSeq> newest) {
  Lock lock(mutex_);
  if (!inventory_.newest(dataset)) inventory_.set_newest(dataset, newest);
  unreconciled_[dataset] = false;
  stuck_.erase(dataset);
  if (is_reconciled(lock)) reconciled_.notify_all();
}

void RoomLedger::give_up_reconciling() {
  Lock lock(mutex_);
  giving_up_ = true;
  reconciled_.notify_all();
}

std::uint64_t RoomLedger::unknown_sizes(std::uint32_t dataset) const {
  Lock lock(mutex_);
  return inventory_.unknown_sizes(dataset);
}

std::vector<FrameSeq> RoomLedger::next_part(std::uint32_t dataset, FrameKind kind, bool all,
                                            std::uint64_t* position) const {
  std::vector<FrameSeq> frames;
  Lock lock(mutex_);
  *position =
      inventory_.table(dataset, kind)
          .look(*position, FrameTable::kSlotsOfOneLook, [&](FrameSeq seq, std::uint64_t bytes) {
            if (all || bytes == FrameTable::kUnknown) frames.push_back(seq);
          });
  return frames;
}

}  // namespace zazen
