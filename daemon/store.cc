// The order of the steps in publish() is what D6 and D22 rest on: data, flush, name, flush,
// log, flush. A flush of a small batch is one fsync for each file (fdatasync need not cover its
// mode and its attribute); for more, one syncfs is cheaper, by the dataset's own directory,
// which no other thread syncs by: it is told of writes that failed only once. What a frame of
// this batch failed to write may have been told to the batch before, which the disk was synced
// for while this frame came in: so each file is asked, too. Directories of frames
// ("run1/7/traj.dcd") are made when a name is given, under the same lock under which empty ones
// are removed.
#include "daemon/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <random>
#include <set>

#include "daemon/beneath.h"
#include "daemon/log.h"

namespace zazen {
namespace {

// A log is written anew when it has this many records more than twice what is held.
constexpr std::uint64_t kIdleRecords = 131'072, kRecentRecords = 65'536;
// With less room than this a refused name says nothing of the directory.
constexpr std::uint64_t kRoomForNames = 1 << 20;

}  // namespace

Reservation::Reservation(Reservation&& other) noexcept {
  swap(other);
}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  Reservation taken(std::move(other));
  swap(taken);
  return *this;
}

void Reservation::swap(Reservation& other) noexcept {
  std::swap(store_, other.store_);
  std::swap(room_, other.room_);
  std::swap(unallocated_bytes_, other.unallocated_bytes_);
  std::swap(native_of_, other.native_of_);
  std::swap(is_admitted_, other.is_admitted_);
  std::swap(refusal_, other.refusal_);
}

void Reservation::allocated() {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  store_->unallocated_bytes_ -= std::exchange(unallocated_bytes_, 0);
}

void Reservation::release() {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  release_locked();
}

void Reservation::release_locked() {
  if (store_ == nullptr) return;
  store_->unallocated_bytes_ -= unallocated_bytes_;
  store_->reserved_.bytes -= room_.bytes;
  store_->reserved_.files -= room_.files;
  if (native_of_) store_->reserved_natives_[*native_of_] -= room_.bytes;
  store_ = nullptr;
}

std::string Store::name_of(std::uint32_t dataset, FrameSeq seq) const {
  return files_[dataset].name_of(seq);
}

std::optional<HeldFrame> Store::find(std::uint32_t dataset, FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  return inventory_.find(dataset, seq);
}

bool Store::has_lost(std::uint32_t dataset, FrameSeq seq) const {
  std::lock_guard names(names_mutex_);
  return find(dataset, seq) && !open_copy(dataset, seq).valid() &&
         (errno == ENOENT || errno == ELOOP);
}

UniqueFd Store::open_copy(std::uint32_t dataset, FrameSeq seq) const {
  for (;;) {
    auto [directory, name] = files_[dataset].place_of(seq);
    UniqueFd copy = open_beneath(directory, name.c_str(), O_RDONLY | O_NOFOLLOW);
    const int code = errno;
    const bool has_moved = !copy.valid() && code == ENOENT &&
                           files_[dataset].place_of(seq).first != directory;
    errno = code;
    if (!has_moved) return copy;
  }
}

int Store::read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const {
  UniqueFd copy = open_copy(dataset, seq);
  return copy.valid() ? read_identity(copy.get(), out) : errno;
}

StoreUsage Store::usage() const {
  std::lock_guard lock(mutex_);
  StoreUsage usage{inventory_.total_bytes(), inventory_.total_files(), evictions_, {}};
  for (std::uint32_t i = 0; i < inventory_.datasets(); ++i) {
    usage.datasets.push_back({inventory_.files(i, FrameKind::kNative),
                              inventory_.files(i, FrameKind::kAlien), inventory_.bytes(i),
                              pins_[i].held().files, pins_[i].ranges()});
  }
  return usage;
}

std::vector<StoredFrame> Store::list(std::uint32_t dataset) const {
  std::vector<StoredFrame> frames;
  // Aliens first: one that is pushed meanwhile is then met among the natives, or among both.
  for (FrameKind kind : {FrameKind::kAlien, FrameKind::kNative}) {
    const std::size_t before = frames.size();
    inventory_.table(dataset, kind)
        .look_at_all(
            mutex_, [&] { frames.resize(before); },
            [&](FrameSeq seq, std::uint64_t bytes) {
              frames.push_back({dataset,
                                seq,
                                {kind, bytes == FrameTable::kUnknown ? 0 : bytes},
                                pins_[dataset].contains(seq)});
            });
  }
  auto order = [](const StoredFrame& frame) {
    return std::pair(frame.seq, frame.held.kind != FrameKind::kNative);
  };
  std::ranges::sort(frames, {}, order);
  auto [twice, end] = std::ranges::unique(frames, {}, &StoredFrame::seq);
  frames.erase(twice, end);
  return frames;
}

std::vector<FrameSeq> Store::frames_from(std::uint32_t dataset, FrameSeq first,
                                         std::size_t limit) const {
  std::vector<FrameSeq> frames;
  // Aliens first: one that is pushed meanwhile is then met among the natives.
  for (FrameKind kind : {FrameKind::kAlien, FrameKind::kNative}) {
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

// The first and the last are found in parts, without the lock in between; what comes and goes
// meanwhile does not matter.
std::vector<FrameSeq> Store::sample(std::uint32_t dataset, std::size_t at_random) const {
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
  std::lock_guard lock(mutex_);
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

Temporary Store::make_temporary(std::uint32_t dataset) const {
  Temporary file = disk_.make_temporary(files_[dataset].directory.get());
  int code = errno;
  if (file.fd() < 0) health_.note(code);
  errno = code;
  return file;
}

void Store::publish(std::span<FinishedCopy> batch) {
  flush_data(batch);
  {
    std::lock_guard names(names_mutex_);
    give_names(batch);
  }
  // Without the lock: an origin may take its time. Who drops a copy meanwhile takes its name.
  for (FinishedCopy& copy : batch) {
    if (copy.status == 0 && copy.is_current && !copy.is_current()) copy.status = ESTALE;
  }
  std::lock_guard names(names_mutex_);
  keep_names(batch);
  log_batch(batch);
  for (const FinishedCopy& copy : batch) health_.note(copy.status);
  for (const FinishedCopy& copy : batch) compact(copy.dataset, copy.kind);
}

void Store::flush_data(std::span<FinishedCopy> batch) {
  DiskHealth::Operation operation(health_);
  std::map<std::uint32_t, int> synced;  // by dataset
  for (FinishedCopy& copy : batch) {
    if (batch.size() <= kSmallBatch) {
      copy.status = ::fsync(copy.file.fd()) == 0 ? 0 : errno;
      continue;
    }
    auto [status, first] = synced.try_emplace(copy.dataset);
    if (first) status->second = sync_disk(files_[copy.dataset].directory.get());
    copy.status = status->second != 0 ? status->second : copy.file.write_failure();
  }
  // A file system may add blocks of its own, or know only later what it gave.
  for (FinishedCopy& copy : batch) {
    struct stat local = {};
    if (::fstat(copy.file.fd(), &local) == 0) copy.bytes = std::max(copy.bytes, room_of(local));
  }
}

int Store::give_name(FinishedCopy& copy, bool* flat) {
  const DatasetFiles& files = files_[copy.dataset];
  auto [below, leaf] = split_name(name_of(copy.dataset, copy.seq));
  *flat = *flat && below.empty();
  if (copy.waits) {
    // In this order: what is at both places after a crash is served by its name.
    int code = files.waiting->publish(copy.file, copy.seq);
    if (code == 0 && files.suspended->contains(copy.seq)) {
      code = files.suspended->remove(copy.seq, name_of(copy.dataset, copy.seq));
    }
    return code != 0 ? code : unlink_name(copy.dataset, copy.seq);
  }
  UniqueFd directory = make_directory_beneath(files.directory.get(), below);
  if (!directory.valid()) return errno;
  int code = grant_way(copy.dataset, below, copy.reached);
  if (code != 0) return code;
  unindex(directory.get(), leaf.c_str());
  code = copy.file.publish(directory.get(), leaf.c_str());
  if (code == 0 && files.waiting->contains(copy.seq)) code = files.waiting->remove(copy.seq);
  if (code == 0 && files.suspended->contains(copy.seq)) {
    code = files.suspended->remove(copy.seq, name_of(copy.dataset, copy.seq));
  }
  return note_full_directory(copy.dataset, code);
}

void Store::give_names(std::span<FinishedCopy> batch) {
  bool flat = true;
  std::set<std::uint32_t> touched;
  for (FinishedCopy& copy : batch) {
    if (copy.status != 0) continue;
    if (copy.cancelled && copy.cancelled->load()) {
      copy.status = ECANCELED;
      continue;
    }
    copy.status = give_name(copy, &flat);
    touched.insert(copy.dataset);
  }
  int code = flush_names(touched, !flat || batch.size() > kSmallBatch);
  for (FinishedCopy& copy : batch) {
    if (copy.status == 0 && code != 0) {
      unlink_copy(copy.dataset, copy.seq);
      copy.status = code;
    }
  }
}

void Store::keep_names(std::span<FinishedCopy> batch) {
  for (FinishedCopy& copy : batch) {
    struct stat local = {};
    const bool has_name = ::fstat(copy.file.fd(), &local) != 0 || local.st_nlink > 0;
    if (copy.status == ESTALE && has_name) {
      // Durably: after a crash it would be found as a copy that was not logged yet.
      remove(copy.dataset, std::span(&copy.seq, 1), true);
    } else if (copy.status == 0 && !has_name) {
      copy.status = ECANCELED;
    } else if (copy.status == 0 && !copy.waits && !is_suspended(copy.dataset, copy.seq)) {
      index(copy.dataset, copy.file.fd());
    }
  }
}

int Store::flush_names(const std::set<std::uint32_t>& touched, bool all) {
  DiskHealth::Operation operation(health_);
  int code = 0;
  for (std::uint32_t dataset : touched) {
    int directory = files_[dataset].directory.get();
    if (all) {
      if (int failed = sync_disk(directory); failed != 0) code = failed;
      continue;
    }
    if (::fsync(directory) != 0) code = errno;
    if (int waiting = files_[dataset].waiting->flush(); waiting != 0) code = waiting;
  }
  return code;
}

void Store::log_batch(std::span<FinishedCopy> batch) {
  struct Records {
    std::vector<FrameSeq> added;
    std::vector<FrameSeq> forgotten;
  };
  std::map<std::pair<std::uint32_t, FrameKind>, Records> records;
  for (const FinishedCopy& copy : batch) {
    if (copy.status != 0) continue;
    records[{copy.dataset, copy.kind}].added.push_back(copy.seq);
    std::optional<HeldFrame> before = find(copy.dataset, copy.seq);
    if (before && before->kind != copy.kind) {
      records[{copy.dataset, before->kind}].forgotten.push_back(copy.seq);
    }
  }
  std::set<std::pair<std::uint32_t, FrameKind>> failed;
  int code = 0;
  for (auto& [key, lists] : records) {
    Status done = append(key.first, key.second, lists.added, lists.forgotten, true);
    if (done.ok()) continue;
    failed.insert(key);
    code = done.error().code;
  }
  // A copy and its reservation are never counted both: the next one may need that room.
  std::lock_guard lock(mutex_);
  for (FinishedCopy& copy : batch) {
    copy.reservation.release_locked();
    if (copy.status != 0) continue;
    if (failed.contains({copy.dataset, copy.kind})) {
      unlink_copy(copy.dataset, copy.seq);
      let_go(copy.dataset, copy.seq);
      copy.status = code;
    } else {
      take_in(copy.dataset, copy.seq, copy.kind, copy.bytes, owner_key(copy.owner));
      note_owner(copy.owner);
    }
  }
}

// Setting an attribute needs the write bit, even for the owner. The other bits stay: they are
// the mask of the copy's ACL.
int Store::replace_identity(int copy_fd, const OriginIdentity& identity) {
  struct stat local = {};
  if (::fstat(copy_fd, &local) != 0) return errno;
  const mode_t mode = local.st_mode & (kCopyMode | kSharedBits);
  if (::fchmod(copy_fd, mode | S_IWUSR) != 0) return errno;
  int code = write_identity(copy_fd, identity);
  return ::fchmod(copy_fd, mode) == 0 ? code : errno;
}

int Store::promote(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard names(names_mutex_);
  std::optional<HeldFrame> held = find(dataset, seq);
  if (!held) return ENOENT;
  if (held->kind == FrameKind::kNative) return 0;
  {
    std::lock_guard lock(mutex_);
    if (exceeds_share(held->owner, held->bytes)) return refuse_share(dataset);
  }
  UniqueFd copy = open_copy(dataset, seq);
  if (!copy.valid()) return errno;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  identity.kind = FrameKind::kNative;
  int code = replace_identity(copy.get(), identity);
  if (code == 0 && ::fsync(copy.get()) != 0) code = errno;
  if (!is_suspended(dataset, seq)) index(dataset, copy.get());
  if (code != 0) return code;

  const FrameSeq one[] = {seq};
  Status done = append(dataset, FrameKind::kNative, one, {}, true);
  if (done.ok()) done = append(dataset, FrameKind::kAlien, {}, one, true);
  if (!done.ok()) return done.error().code;
  struct stat local = {};
  if (::fstat(copy.get(), &local) != 0) return errno;
  std::lock_guard lock(mutex_);
  take_in(dataset, seq, FrameKind::kNative, std::max(held->bytes, room_of(local)),
          owner_key(identity.uid));
  return 0;
}

Amount Store::drop(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  std::lock_guard names(names_mutex_);
  return remove(dataset, frames, true);
}

Amount Store::drop_exactly(std::uint32_t dataset, std::span<const ExactCopy> copies) {
  std::lock_guard names(names_mutex_);
  std::vector<FrameSeq> frames;
  for (const ExactCopy& copy : copies) {
    struct stat local = {};
    auto [directory, name] = files_[dataset].place_of(copy.seq);
    UniqueFd now = open_beneath(directory, name.c_str(), O_PATH | O_NOFOLLOW);
    bool missing = !now.valid() && (errno == ENOENT || errno == ELOOP);
    if (!missing && (!now.valid() || ::fstat(now.get(), &local) != 0)) continue;
    if (ExactCopy::of(copy.seq, local) == copy) frames.push_back(copy.seq);
  }
  return remove(dataset, frames, true);
}

Amount Store::remove(std::uint32_t dataset, std::span<const FrameSeq> frames, bool durable) {
  Amount amount;
  std::vector<FrameSeq> natives, aliens;
  for (FrameSeq seq : frames) {
    if (unlink_copy(dataset, seq) != 0) continue;  // still held, and looked at again
    std::lock_guard lock(mutex_);
    std::optional<HeldFrame> held = inventory_.find(dataset, seq);
    if (!held) continue;
    amount.frames += 1;
    amount.bytes += held->bytes;
    (held->kind == FrameKind::kNative ? natives : aliens).push_back(seq);
    let_go(dataset, seq);
  }
  if (amount.frames > 0) full_directories_.clear(dataset);
  if (durable) flush_removals(dataset, frames);
  // A log that still names a frame does no harm: its reader finds no file and takes the
  // origin, and the next start forgets it. But a native must not be found there when the frame
  // has come back as an alien.
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    const std::vector<FrameSeq>& gone = kind == FrameKind::kNative ? natives : aliens;
    if (gone.empty()) continue;
    (void)append(dataset, kind, {}, gone, durable || kind == FrameKind::kNative);
    compact(dataset, kind);
  }
  return amount;
}

void Store::flush_removals(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  if (frames.size() > kSmallBatch) {
    disk_.sync();
    return;
  }
  for (FrameSeq seq : frames) {
    flush_removal_beneath(files_[dataset].directory.get(), name_of(dataset, seq));
  }
  files_[dataset].waiting->flush();
  files_[dataset].suspended->flush();
}

int Store::keep_listing(std::uint32_t dataset, const std::string& encoded,
                        const ReachedDirectories& reached) {
  static constexpr char kNewListing[] = ".zazen/listing.new";
  std::lock_guard names(names_mutex_);
  if (!is_mirrored(dataset, reached)) return EAGAIN;
  int directory = files_[dataset].directory.get();
  UniqueFd fd(::openat(directory, kNewListing,
                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd.valid()) return errno;
  std::size_t done = 0;
  while (done < encoded.size()) {
    ssize_t size = ::write(fd.get(), encoded.data() + done, encoded.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    done += static_cast<std::size_t>(size);
  }
  if (::fdatasync(fd.get()) != 0) return errno;
  return ::renameat(directory, kNewListing, directory, kListingFile) == 0 ? 0 : errno;
}

SequenceLog& Store::log_of(std::uint32_t dataset, FrameKind kind) {
  DatasetFiles& files = files_[dataset];
  return kind == FrameKind::kNative ? files.native_log : files.alien_log;
}

Status Store::append(std::uint32_t dataset, FrameKind kind, std::span<const FrameSeq> added,
                     std::span<const FrameSeq> forgotten, bool durable) {
  DiskHealth::Operation operation(health_);
  SequenceLog& log = log_of(dataset, kind);
  Status done = log.append(added, forgotten);
  // What was evicted for these copies may not have been given back yet.
  if (!done.ok() && is_out_of_room(done.error().code) && sync_evictions() == 0)
    done = log.append(added, forgotten);
  if (done.ok() && durable) done = log.flush();
  if (!done.ok()) {
    health_.note(done.error().code);
    log_line(LogLevel::kError, "log_failed",
             {{"dataset", config_.datasets[dataset].path}, {"error", done.error().message()}});
  }
  return done;
}

// The last ones stay in their order, and last: a start looks there for young copies. Log and
// inventory must agree.
void Store::compact(std::uint32_t dataset, FrameKind kind) {
  SequenceLog& log = log_of(dataset, kind);
  const char* name = kind == FrameKind::kNative ? kNativeLog : kAlienLog;
  write_compact(dataset, kind, name, log);
  if (log.wants_summary()) (void)log.summarize(files_[dataset].directory.get(), name);
}

void Store::write_compact(std::uint32_t dataset, FrameKind kind, const char* name,
                          SequenceLog& log) {
  std::vector<FrameSeq> frames, recent;
  {
    std::lock_guard lock(mutex_);
    const FrameTable& table = inventory_.table(dataset, kind);
    if (log.records() <= 2 * table.size() + kIdleRecords) return;
    recent = log.added_since(log.records() - kRecentRecords);
    std::erase_if(recent, [&](FrameSeq seq) { return !table.find(seq); });
    frames.reserve(table.size() + recent.size());
  }
  // What is held changes under names_mutex_ only.
  inventory_.table(dataset, kind)
      .look_at_all(
          mutex_, [&] { frames.clear(); },
          [&](FrameSeq seq, std::uint64_t) { frames.push_back(seq); });
  std::sort(frames.begin(), frames.end());
  frames.insert(frames.end(), recent.begin(), recent.end());
  (void)log.write_anew(files_[dataset].directory.get(), name, frames);
}

bool Store::directory_is_full(std::uint32_t dataset) const {
  return full_directories_.contains(dataset, monotonic_ms());
}

// What naming a copy came to: EMLINK if the directory takes no more, though the disk has room.
int Store::note_full_directory(std::uint32_t dataset, int code) {
  if (code != EMLINK && code != ENOSPC) return code;
  DiskRoom room = disk_.room();
  if (code == ENOSPC && (room.bytes < kRoomForNames || room.files == 0)) return code;
  if (full_directories_.note(dataset, monotonic_ms())) {
    log_line(LogLevel::kWarn, "directory_full",
             {{"dataset", config_.datasets[dataset].path},
              {"error", std::strerror(code)},
              {"pause_seconds", std::to_string(FullDirectories::kPauseMs / 1000)}});
  }
  return EMLINK;
}

void Store::index(std::uint32_t dataset, int copy_fd) {
  struct stat local = {};
  OriginIdentity identity = {};
  if (::fstat(copy_fd, &local) != 0 || !looks_like_copy(local, disk_.dev())) return;
  if (config_.all_users && !is_everybodys(dataset, local)) return;
  if (read_identity(copy_fd, &identity) == 0) index_.add(dataset, local, identity);
}

void Store::unindex(int directory_fd, const char* leaf) {
  struct stat local = {};
  if (::fstatat(directory_fd, leaf, &local, AT_SYMLINK_NOFOLLOW) == 0) {
    index_.remove(local.st_ino);
  }
}

int Store::unlink_copy(std::uint32_t dataset, FrameSeq seq) {
  int code = 0;
  if (is_waiting(dataset, seq)) {
    code = files_[dataset].waiting->remove(seq);
  } else if (is_suspended(dataset, seq)) {
    code = files_[dataset].suspended->remove(seq, name_of(dataset, seq));
  } else {
    return unlink_name(dataset, seq);
  }
  health_.note(code);
  return code;
}

int Store::unlink_name(std::uint32_t dataset, FrameSeq seq) {
  std::string name = name_of(dataset, seq);
  auto [below, leaf] = split_name(name);
  int directory = files_[dataset].directory.get();
  UniqueFd parent = open_beneath(directory, below.empty() ? "." : below.c_str(), O_PATH);
  bool gone = !parent.valid() && (errno == ENOENT || errno == ENOTDIR);
  if (gone) return 0;
  if (parent.valid()) unindex(parent.get(), leaf.c_str());
  if (!parent.valid() ||
      (::unlinkat(parent.get(), leaf.c_str(), 0) != 0 && errno != ENOENT && errno != EISDIR)) {
    int code = errno;
    health_.note(code);
    return code;
  }
  // The directories of the name go with their last frame.
  for (std::size_t slash = name.rfind('/'); slash != std::string::npos;
       slash = name.rfind('/')) {
    name.resize(slash);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0) break;
  }
  return 0;
}

}  // namespace zazen
