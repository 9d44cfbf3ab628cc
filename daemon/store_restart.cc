// How a store starts and stops (D22).
//
// A start serves at once, whatever it finds: what a clean stop left is believed; after an
// unclean one the logs are replayed, which is a second for ten million frames. Then reconcile()
// goes through the files in the background: it puts them into the identity index and, where the
// stop was not clean, learns their sizes. Until it is done, how much is held is not known: what
// the whole disk holds stands in for it, and nothing is evicted.
#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <iterator>

#include "daemon/beneath.h"
#include "daemon/clean_mark.h"
#include "daemon/log.h"
#include "daemon/start_error.h"
#include "daemon/store.h"
#include "daemon/young_copies.h"

namespace zazen {
namespace {

constexpr std::size_t kPart = 64;  // names_mutex_ is let go in between

bool is_later(const timespec& a, const timespec& b) {
  return std::pair(a.tv_sec, a.tv_nsec) > std::pair(b.tv_sec, b.tv_nsec);
}

uid_t owner_of(const FoundCopy& found) {
  return found.identity && !found.waits ? found.identity->uid : kNoUser;
}

}  // namespace

struct Store::Findings {
  std::uint64_t seen = 0;
  std::uint64_t forgotten = 0;  // entries without a file
  std::uint64_t adopted = 0;    // files without an entry
  std::uint64_t removed = 0;    // files that are no whole copies
  std::vector<FrameSeq> young;  // adopted ones
  std::optional<FrameSeq> newest;
  timespec newest_time = {};
};

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
    bool resumed = false;
    Status taken = store->take_up(std::move(*directory), mark ? mark->stamp : 0, &resumed);
    if (!taken.ok()) return taken.error();
    store->load_pins(i);
    bool as_it_was = is_new || (resumed && mark->reconciled);
    store->unreconciled_[i] = !as_it_was;
    store->stopped_cleanly_ = store->stopped_cleanly_ && as_it_was;
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

Status Store::take_up(UniqueFd directory, std::uint64_t stamp, bool* resumed) {
  auto index = static_cast<std::uint32_t>(files_.size());
  Result<DatasetFiles> files = load_dataset(config_.datasets[index], std::move(directory),
                                            disk_.state_fd(), stamp, index, inventory_, resumed);
  if (!files.ok()) return files.error();
  files_.push_back(std::move(*files));
  for (FrameSeq seq : zazen::fetched_lately(files_.back())) {
    std::optional<HeldFrame> held = inventory_.find(index, seq);
    if (held && held->kind == FrameKind::kAlien) fetched_lately_.emplace_back(index, seq);
  }
  dataset_count_.store(files_.size(), std::memory_order_release);
  return Done{};
}

Status Store::add_dataset(UniqueFd directory) {
  std::lock_guard names(names_mutex_);
  std::unique_lock lock(mutex_);
  bool resumed = false;
  Status taken = take_up(std::move(directory), 0, &resumed);
  if (!taken.ok()) return taken;
  auto added = static_cast<std::uint32_t>(files_.size() - 1);
  unreconciled_[added] = true;
  lock.unlock();
  load_pins(added);
  return taken;
}

void Store::keep_limits() {
  std::lock_guard names(names_mutex_);
  std::unique_lock lock(mutex_);
  if (!is_reconciled_locked()) return;  // finish_reconciling() will
  Room need = deficit({});
  std::vector<std::uint32_t> all = eviction_.longest_unused_first();
  lock.unlock();
  evict_for(need, all);
}

bool Store::is_reconciled() const {
  std::lock_guard lock(mutex_);
  return is_reconciled_locked();
}

bool Store::is_reconciled_locked() const {
  return std::none_of(unreconciled_.begin(), unreconciled_.end(), [](bool one) { return one; });
}

bool Store::wait_until_reconciled() {
  std::unique_lock lock(mutex_);
  reconciled_.wait(lock,
                   [this] { return giving_up_ || !stuck_.empty() || is_reconciled_locked(); });
  return is_reconciled_locked();
}

std::set<std::uint32_t> Store::not_reconciled() const {
  std::lock_guard lock(mutex_);
  return stuck_;
}

void Store::give_up_reconciling() {
  {
    std::lock_guard lock(mutex_);
    giving_up_ = true;
  }
  reconciled_.notify_all();
}

std::vector<FrameSeq> Store::reconcile(std::uint32_t dataset) {
  rights_turns_[dataset].index_due = false;
  Findings findings;
  bool done = go_through_files(dataset, findings);
  if (giving_up_) return findings.young;
  if (!done) {
    log_line(LogLevel::kError, "not_reconciled", {{"dataset", config_.datasets[dataset].path}});
    std::lock_guard lock(mutex_);
    stuck_.insert(dataset);
    reconciled_.notify_all();
    return findings.young;
  }
  if (findings.forgotten + findings.adopted + findings.removed > 0) {
    log_line(LogLevel::kInfo, "reconciled",
             {{"dataset", config_.datasets[dataset].path},
              {"forgotten", std::to_string(findings.forgotten)},
              {"adopted", std::to_string(findings.adopted)},
              {"removed", std::to_string(findings.removed)}});
  }
  finish_reconciling(dataset, findings);
  return findings.young;
}

bool Store::go_through_files(std::uint32_t dataset, Findings& findings) {
  {
    std::lock_guard names(names_mutex_);
    if (files_[dataset].load_nameless() != 0) return false;
  }
  Result<CopyNames> names = CopyNames::open(config_.datasets[dataset], files_[dataset].directory.get());
  if (!names.ok()) return false;
  std::uint64_t held_before = 0;
  bool sizes_are_known = false;
  {
    std::lock_guard lock(mutex_);
    held_before = inventory_.files(dataset, FrameKind::kNative) +
                  inventory_.files(dataset, FrameKind::kAlien);
    sizes_are_known = !unreconciled_[dataset];
  }
  index_.reserve(held_before);
  for (;;) {
    std::vector<FrameSeq> frames = names->next(kPart);
    if (frames.empty() || giving_up_) break;
    reconcile_files(dataset, frames, findings);
  }
  std::vector<FrameSeq> nameless = files_[dataset].waiting->frames();
  std::ranges::copy(files_[dataset].suspended->frames(), std::back_inserter(nameless));
  for (std::span<const FrameSeq> left = nameless; !left.empty() && !giving_up_;) {
    std::size_t part = std::min(kPart, left.size());
    reconcile_files(dataset, left.first(part), findings);
    left = left.subspan(part);
  }
  bool all_were_met = sizes_are_known && findings.seen >= held_before;
  return all_were_met || forget_lost(dataset, sizes_are_known, findings);
}

void Store::finish_reconciling(std::uint32_t dataset, const Findings& findings) {
  std::lock_guard names(names_mutex_);
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) compact(dataset, kind);
  std::unique_lock lock(mutex_);
  if (!pins_[dataset].ranges().empty()) {  // by now their sizes are known
    Pins pins = pins_[dataset];
    lock.unlock();
    recount(dataset, {}, pins);
    lock.lock();
    pins_[dataset] = std::move(pins);
  }
  if (!inventory_.newest(dataset)) inventory_.set_newest(dataset, findings.newest);
  unreconciled_[dataset] = false;
  stuck_.erase(dataset);
  if (!is_reconciled_locked()) return;
  // The limits may have been lowered since the last time.
  Room need = deficit({});
  std::vector<std::uint32_t> all = eviction_.longest_unused_first();
  lock.unlock();
  reconciled_.notify_all();
  evict_for(need, all);
}

void Store::reconcile_files(std::uint32_t dataset, std::span<const FrameSeq> frames,
                            Findings& findings) {
  std::vector<FrameSeq> natives, aliens, no_natives, no_aliens, broken;
  std::lock_guard names(names_mutex_);
  for (FrameSeq seq : frames) {
    std::optional<HeldFrame> held = find(dataset, seq);
    FoundCopy found = look_at_copy(files_[dataset], seq, disk_.dev(), held);
    if (found.state == FoundCopy::State::kBroken) broken.push_back(seq);
    if (found.state != FoundCopy::State::kWhole) continue;
    bool shown = !config_.all_users || is_everybodys(dataset, found.local);
    if (found.identity && shown && !found.waits && !found.is_suspended)
      index_.add(dataset, found.local, *found.identity);
    const std::uint64_t bytes = room_of(found.local);
    const uid_t owner = owner_of(found);
    std::lock_guard lock(mutex_);
    note_owner(owner);
    if (held && held->kind != found.kind) {  // it was in both logs
      ++findings.seen;
      take_in(dataset, seq, found.kind, bytes, owner_key(owner));
      (found.kind == FrameKind::kNative ? natives : aliens).push_back(seq);
      (found.kind == FrameKind::kNative ? no_aliens : no_natives).push_back(seq);
    } else if (held) {
      ++findings.seen;
      if (!inventory_.knows_size(dataset, seq)) {
        inventory_.learn(dataset, seq, bytes, owner_key(owner));
      }
    } else {
      inventory_.table(dataset, found.kind).set(seq, bytes, owner_key(owner));
      (found.kind == FrameKind::kNative ? natives : aliens).push_back(seq);
      if (found.kind == FrameKind::kAlien && changed_lately(found.local)) {
        findings.young.push_back(seq);
      }
    }
    if (!findings.newest || is_later(found.local.st_ctim, findings.newest_time)) {
      findings.newest = seq;
      findings.newest_time = found.local.st_ctim;
    }
  }
  findings.adopted += natives.size() + aliens.size() - no_natives.size() - no_aliens.size();
  findings.removed += broken.size();
  if (natives.size() + no_natives.size() > 0) {
    (void)append(dataset, FrameKind::kNative, natives, no_natives, true);
  }
  if (aliens.size() + no_aliens.size() > 0) {
    (void)append(dataset, FrameKind::kAlien, aliens, no_aliens, true);
  }
  if (!broken.empty()) remove(dataset, broken, true);
}

// Entries whose file the walk did not meet. Each removal may move others to a part that was
// looked at already, so those without a size are looked for until there are none, or until
// that does not help.
bool Store::forget_lost(std::uint32_t dataset, bool sizes_are_known, Findings& findings) {
  for (std::uint64_t before = 0;;) {
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      std::uint64_t position = 0;
      do {
        std::vector<FrameSeq> suspects;
        {
          std::lock_guard lock(mutex_);
          const FrameTable& table = inventory_.table(dataset, kind);
          position = table.look(position, FrameTable::kSlotsOfOneLook,
                                [&](FrameSeq seq, std::uint64_t bytes) {
                                  if (sizes_are_known || bytes == FrameTable::kUnknown)
                                    suspects.push_back(seq);
                                });
        }
        findings.forgotten += forget_missing(dataset, suspects);
      } while (position != 0 && !giving_up_);
    }
    std::lock_guard lock(mutex_);
    std::uint64_t left = inventory_.unknown_sizes(dataset);
    if (left == 0 || left == before || giving_up_) return left == 0;
    before = left;
  }
}

std::uint64_t Store::forget_missing(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  std::uint64_t forgotten = 0;
  while (!frames.empty() && !giving_up_) {
    std::vector<FrameSeq> lost;
    std::lock_guard names(names_mutex_);
    for (FrameSeq seq : frames.first(std::min(kPart, frames.size()))) {
      std::optional<HeldFrame> held = find(dataset, seq);
      FoundCopy found = look_at_copy(files_[dataset], seq, disk_.dev(), held);
      if (found.state == FoundCopy::State::kUnreadable) continue;
      if (found.state != FoundCopy::State::kWhole) {
        lost.push_back(seq);
        continue;
      }
      std::lock_guard lock(mutex_);
      inventory_.learn(dataset, seq, room_of(found.local), owner_key(owner_of(found)));
    }
    frames = frames.subspan(std::min(kPart, frames.size()));
    if (!lost.empty()) forgotten += remove(dataset, lost, false).frames;
  }
  return forgotten;
}

void Store::stop_cleanly(bool trusted) {
  std::lock_guard names(names_mutex_);
  std::lock_guard lock(mutex_);
  CleanMark mark;
  while (mark.stamp == 0 && ::getrandom(&mark.stamp, sizeof mark.stamp, 0) < 0) {
  }
  mark.reconciled = trusted && is_reconciled_locked();
  int code = 0;
  for (std::uint32_t i = 0; i < files_.size() && code == 0; ++i) {
    if (config_.datasets[i].removed) continue;  // nobody vouches for its copies
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      code =
          std::max(code, inventory_.table(i, kind).seal(
                             {mark.stamp, log_of(i, kind).size_bytes(), inventory_.newest(i)}));
    }
  }
  if (code == 0) code = sync_disk(disk_.root_fd());
  if (code == 0) code = leave_clean_mark(disk_.state_fd(), mark);
  if (code != 0) log_line(LogLevel::kWarn, "no_clean_mark", {{"error", std::strerror(code)}});
}

}  // namespace zazen
