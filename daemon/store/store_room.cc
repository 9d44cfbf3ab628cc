// The store gives room to copies, and removes others for it (D16, room_ledger.h).
#include <algorithm>
#include <limits>

#include "daemon/store/store.h"

namespace zazen {
namespace {

constexpr std::size_t kEvictChunk = 64;  // the NamesLock is let go in between

}  // namespace

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
  // Until then nobody knows what an owner's natives take.
  if (is_native && config_.has_native_share() && !ledger_.wait_until_reconciled()) return {};
  // Most misses of a full cache end here, without waiting for the disk.
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
  // Twice as many aliens each time: a sync for each would take hours.
  for (std::uint64_t wanted_gone = 1; is_out_of_room(code); wanted_gone *= 2) {
    std::uint64_t gone = 0;
    while (gone < wanted_gone && make_room(claim)) ++gone;
    if (gone > 0) code = attempt();
    if (!is_out_of_room(code)) break;
    // btrfs gives a quota's room back when it commits; else all aliens would go for nothing.
    // When none is left, those that went for others may have made more room than they took.
    if (gone == 0 && (std::exchange(has_waited, true) || !is_room_to_come(synced))) break;
    code = copies_.sync_evictions();
    if (code == 0) code = attempt();
  }
  health_.note(code);
  return code;
}

// Room of aliens that went, which the disk has not given back yet, or only after somebody saw
// this number of synced evictions.
bool Store::is_room_to_come(std::uint64_t synced) const {
  const RoomLedger::Evictions now = ledger_.evictions();
  return now.all != now.synced || now.synced != synced;
}

// False if no alien went.
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
    // Since it was chosen an alien may have been pushed, which was acknowledged, or pinned.
    std::erase_if(some,
                  [&](FrameSeq seq) { return !ledger_.is_selected(dataset, seq, selection); });
    Amount gone = copies_.remove(names, dataset, some, false);
    evicted.gone.frames += gone.frames;
    evicted.gone.bytes += gone.bytes;
    rest = rest.subspan(count);
    ledger_.count_evictions(gone.frames);
  }
  // The caller tells somebody of it: after a crash none of them is back.
  evicted.status = copies_.sync_evictions();
  health_.note(evicted.status);
  return evicted;
}

int Store::pin(std::uint32_t dataset, FrameRange range, bool pinned, Amount* held) {
  NamesLock names = copies_.lock_names();  // so that nothing is evicted meanwhile
  Pins pins = ledger_.pins(dataset);
  pinned ? pins.pin(range) : pins.unpin(range);
  const DatasetFiles& files = copies_.dataset(dataset);
  Status saved = pins.save(files.directory.get(), *files.config);
  if (!saved.ok()) return saved.error().code;
  *held = ledger_.set_pins(names, dataset, std::move(pins), range);
  return 0;
}

}  // namespace zazen
