#include "daemon/store/reconciliation.h"

#include <algorithm>
#include <iterator>

#include "daemon/origin/trust.h"
#include "daemon/process/log.h"

namespace zazen {
namespace {

constexpr std::size_t kPart = 64;  // the NamesLock is released between two parts

bool is_later(const timespec& a, const timespec& b) {
  return std::pair(a.tv_sec, a.tv_nsec) > std::pair(b.tv_sec, b.tv_nsec);
}

uid_t owner_of(const FoundCopy& found) {
  return found.identity && !found.waits ? found.identity->uid : kNoUser;
}

}  // namespace

std::vector<FrameSeq> Reconciliation::run() {
  const bool done = go_through_files();
  if (ledger_.is_giving_up()) return young_;
  if (!done) {
    log_line(LogLevel::kError, "not_reconciled", {{"dataset", files_.config->path}});
    ledger_.note_not_reconciled(dataset_);
    return young_;
  }
  if (forgotten_ + adopted_ + removed_ > 0) {
    log_line(LogLevel::kInfo, "reconciled",
             {{"dataset", files_.config->path},
              {"forgotten", std::to_string(forgotten_)},
              {"adopted", std::to_string(adopted_)},
              {"removed", std::to_string(removed_)}});
  }
  finish();
  return young_;
}

bool Reconciliation::go_through_files() {
  {
    NamesLock names = copies_.lock_names();
    if (files_.load_unserved() != 0) return false;
  }
  Result<CopyNames> names = CopyNames::open(*files_.config, files_.directory.get());
  if (!names.ok()) return false;
  const std::uint64_t held_before =
      ledger_.files(dataset_, FrameKind::kNative) + ledger_.files(dataset_, FrameKind::kAlien);
  copies_.reserve_index(held_before);
  for (;;) {
    std::vector<FrameSeq> frames = names->next(kPart);
    if (frames.empty() || ledger_.is_giving_up()) break;
    take_in_files(frames);
  }
  std::vector<FrameSeq> unserved = files_.waiting->frames();
  std::ranges::copy(files_.suspended->frames(), std::back_inserter(unserved));
  for (std::span<const FrameSeq> left = unserved; !left.empty() && !ledger_.is_giving_up();) {
    std::size_t part = std::min(kPart, left.size());
    take_in_files(left.first(part));
    left = left.subspan(part);
  }
  bool all_were_met = sizes_are_known_ && seen_ >= held_before;
  return all_were_met || forget_lost();
}

void Reconciliation::finish() {
  NamesLock names = copies_.lock_names();
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien})
    copies_.compact(names, dataset_, kind);
  Pins pins = ledger_.pins(dataset_);  // the sizes of their frames are known here
  if (!pins.ranges().empty()) ledger_.set_pins(names, dataset_, std::move(pins));
  ledger_.note_reconciled(names, dataset_, newest_);
  // The limits may have been lowered since the last time.
  if (std::optional<EvictionPlan> plan = ledger_.over_limits()) copies_.evict_for(names, *plan);
}

void Reconciliation::take_in_files(std::span<const FrameSeq> frames) {
  std::vector<FrameSeq> natives, aliens, no_natives, no_aliens, broken;
  NamesLock names = copies_.lock_names();
  for (FrameSeq seq : frames) {
    std::optional<HeldFrame> held = ledger_.find(dataset_, seq);
    // Its reservation counts, and confirm_copies() logs it.
    if (!held && copies_.is_unconfirmed(names, dataset_, seq)) continue;
    FoundCopy found = look_at_copy(files_, seq, disk_.dev(), held);
    if (found.state == FoundCopy::State::kBroken) broken.push_back(seq);
    if (found.state != FoundCopy::State::kWhole) continue;
    if (found.identity && !found.waits && !found.is_suspended) {
      copies_.index(names, dataset_, found.local, *found.identity);
    }
    ledger_.take_in_found(names, dataset_, seq, found.kind, room_of(found.local),
                          owner_of(found));
    const bool is_native = found.kind == FrameKind::kNative;
    if (held) ++seen_;
    if (!held || held->kind != found.kind) (is_native ? natives : aliens).push_back(seq);
    if (held && held->kind != found.kind) {  // it was in both logs
      (is_native ? no_aliens : no_natives).push_back(seq);
    }
    if (!held && !is_native && changed_lately(found.local)) young_.push_back(seq);
    if (!newest_ || is_later(found.local.st_ctim, newest_time_)) {
      newest_ = seq;
      newest_time_ = found.local.st_ctim;
    }
  }
  adopted_ += natives.size() + aliens.size() - no_natives.size() - no_aliens.size();
  removed_ += broken.size();
  if (natives.size() + no_natives.size() > 0) {
    (void)copies_.append(names, dataset_, FrameKind::kNative, natives, no_natives, true);
  }
  if (aliens.size() + no_aliens.size() > 0) {
    (void)copies_.append(names, dataset_, FrameKind::kAlien, aliens, no_aliens, true);
  }
  if (!broken.empty()) copies_.remove(names, dataset_, broken, true);
}

// Forgets entries whose file the walk did not find. A removal may move other entries to a part
// that was examined already. So entries without a size are searched until there are none, or
// until a round makes no progress.
bool Reconciliation::forget_lost() {
  for (std::uint64_t before = 0;;) {
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      std::uint64_t position = 0;
      do {
        forget_missing(ledger_.next_part(dataset_, kind, sizes_are_known_, &position));
      } while (position != 0 && !ledger_.is_giving_up());
    }
    std::uint64_t left = ledger_.unknown_sizes(dataset_);
    if (left == 0 || left == before || ledger_.is_giving_up()) return left == 0;
    before = left;
  }
}

void Reconciliation::forget_missing(std::span<const FrameSeq> frames) {
  while (!frames.empty() && !ledger_.is_giving_up()) {
    std::vector<FrameSeq> lost;
    NamesLock names = copies_.lock_names();
    for (FrameSeq seq : frames.first(std::min(kPart, frames.size()))) {
      std::optional<HeldFrame> held = ledger_.find(dataset_, seq);
      FoundCopy found = look_at_copy(files_, seq, disk_.dev(), held);
      if (found.state == FoundCopy::State::kUnreadable) continue;
      if (found.state != FoundCopy::State::kWhole) {
        lost.push_back(seq);
        continue;
      }
      ledger_.learn(names, dataset_, seq, room_of(found.local), owner_of(found));
    }
    frames = frames.subspan(std::min(kPart, frames.size()));
    if (!lost.empty()) forgotten_ += copies_.remove(names, dataset_, lost, false).frames;
  }
}

}  // namespace zazen
