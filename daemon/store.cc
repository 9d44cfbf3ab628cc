// The order of the steps in publish() is what D6 and D22 rest on: data, flush, name, flush,
// log, flush. A flush of a small batch is one fdatasync for each file; for more, one syncfs is
// cheaper. Directories of frames ("run1/7/traj.dcd") are made when a name is given, under
// the same lock under which empty ones are removed.
#include "daemon/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>

#include "daemon/beneath.h"
#include "daemon/log.h"
#include "daemon/start_error.h"

namespace zazen {
namespace {

// names_mutex_ is let go in between.
constexpr std::size_t kEvictChunk = 1024, kIndexChunk = 64;

// "run1/7/traj.dcd" is "traj.dcd" in "run1/7".
std::pair<std::string, std::string> split_name(const std::string& name) {
  std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::uint64_t excess(std::uint64_t wanted, std::uint64_t limit) {
  return wanted > limit ? wanted - limit : 0;
}

}  // namespace

Reservation::Reservation(Reservation&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)),
      bytes_(other.bytes_),
      allocated_(other.allocated_) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    release();
    store_ = std::exchange(other.store_, nullptr);
    bytes_ = other.bytes_;
    allocated_ = other.allocated_;
  }
  return *this;
}

void Reservation::allocated() {
  if (store_ == nullptr || allocated_) return;
  std::lock_guard lock(store_->mutex_);
  store_->unallocated_bytes_ -= bytes_;
  allocated_ = true;
}

void Reservation::release() {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  release_locked();
}

void Reservation::release_locked() {
  if (store_ == nullptr) return;
  if (!allocated_) store_->unallocated_bytes_ -= bytes_;
  store_->reserved_bytes_ -= bytes_;
  store_->reserved_files_ -= 1;
  store_ = nullptr;
}

Result<std::unique_ptr<Store>> Store::open(const Config& config, CacheDisk disk) {
  std::unique_ptr<Store> store(new Store(config, std::move(disk)));
  store->disk_.sweep();
  for (std::uint32_t i = 0; i < config.datasets.size(); ++i) {
    const DatasetConfig& dataset = config.datasets[i];
    std::string below = dataset.path.substr(1);
    if (below == kCacheStateDirectory || below.starts_with(".zazen/")) {
      return Error{
          EINVAL, "dataset " + dataset.path + ": the cache keeps its own state there", {}};
    }
    UniqueFd directory = make_directory_beneath(store->disk_.root_fd(), below);
    if (!directory.valid() ||
        !make_directory_beneath(directory.get(), kDatasetStateDirectory).valid()) {
      return failed_call("cache directory of dataset " + dataset.path);
    }
    Result<SequenceLog> native = SequenceLog::open(directory.get(), kNativeLog);
    if (!native.ok()) return whole(native.error());
    Result<SequenceLog> alien = SequenceLog::open(directory.get(), kAlienLog);
    if (!alien.ok()) return whole(alien.error());
    store->files_.push_back(
        DatasetFiles{&dataset, std::move(directory), std::move(*native), std::move(*alien)});
    Result<Reconciled> done =
        reconcile(store->files_.back(), store->disk_.dev(), i, store->inventory_);
    if (!done.ok()) return done.error();
    store->load_pins(i);
    for (FrameSeq seq : done->fetched_lately) store->fetched_lately_.emplace_back(i, seq);
    if (done->forgotten + done->adopted + done->removed > 0) {
      log_line(LogLevel::kInfo, "reconciled",
               {{"dataset", dataset.path},
                {"forgotten", std::to_string(done->forgotten)},
                {"adopted", std::to_string(done->adopted)},
                {"removed", std::to_string(done->removed)}});
    }
  }
  store->keep_limits();
  return store;
}

std::string Store::name_of(std::uint32_t dataset, FrameSeq seq) const {
  char name[kMaxTemplate + 32];
  return std::string(name, config_.datasets[dataset].name.format(seq, name, sizeof name));
}

std::optional<HeldFrame> Store::find(std::uint32_t dataset, FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  return inventory_.find(dataset, seq);
}

UniqueFd Store::open_copy(std::uint32_t dataset, FrameSeq seq) const {
  return open_beneath(files_[dataset].directory.get(), name_of(dataset, seq).c_str(),
                      O_RDONLY | O_NOFOLLOW);
}

int Store::read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const {
  UniqueFd copy = open_copy(dataset, seq);
  return copy.valid() ? read_identity(copy.get(), out) : errno;
}

StoreUsage Store::usage() const {
  std::lock_guard lock(mutex_);
  StoreUsage usage{inventory_.total_bytes(), inventory_.total_files(), evictions_, {}};
  for (std::uint32_t i = 0; i < inventory_.datasets(); ++i) {
    usage.datasets.push_back({inventory_.frames(i, FrameKind::kNative).size(),
                              inventory_.frames(i, FrameKind::kAlien).size(),
                              inventory_.bytes(i), pins_[i].held(), pins_[i].ranges()});
  }
  return usage;
}

std::vector<StoredFrame> Store::list(std::uint32_t dataset) const {
  std::vector<StoredFrame> frames;
  {
    std::lock_guard lock(mutex_);
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      for (auto [seq, bytes] : inventory_.frames(dataset, kind)) {
        frames.push_back({dataset, seq, {kind, bytes}, pins_[dataset].contains(seq)});
      }
    }
  }
  std::sort(frames.begin(), frames.end(),
            [](const StoredFrame& a, const StoredFrame& b) { return a.seq < b.seq; });
  return frames;
}

std::vector<FrameSeq> Store::sample(std::uint32_t dataset, std::size_t at_random) const {
  std::mt19937_64 random(std::random_device{}());
  std::set<FrameSeq> chosen;
  std::vector<FrameSeq> held;
  std::lock_guard lock(mutex_);
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    for (auto [seq, bytes] : inventory_.frames(dataset, kind)) held.push_back(seq);
  }
  if (held.empty()) return {};
  auto [first, last] = std::minmax_element(held.begin(), held.end());
  chosen.insert({*first, *last});
  if (std::optional<FrameSeq> newest = inventory_.newest(dataset);
      newest && inventory_.find(dataset, *newest)) {
    chosen.insert(*newest);
  }
  std::sample(held.begin(), held.end(), std::inserter(chosen, chosen.end()), at_random, random);
  return {chosen.begin(), chosen.end()};
}

Room Store::deficit(std::uint64_t bytes, std::uint64_t files) const {
  Room need;
  if (config_.capacity_bytes != 0) {
    need.bytes =
        excess(inventory_.total_bytes() + reserved_bytes_ + bytes, config_.capacity_bytes);
  }
  if (config_.max_files != 0) {
    need.files = excess(inventory_.total_files() + reserved_files_ + files, config_.max_files);
  }
  DiskRoom room = disk_.room();
  need.bytes = std::max(
      need.bytes, excess(unallocated_bytes_ + bytes + config_.keep_free_bytes, room.bytes));
  need.files = std::max(need.files, excess(files, room.files));
  return need;
}

Reservation Store::hold(std::uint64_t bytes) {
  reserved_bytes_ += bytes;
  reserved_files_ += 1;
  unallocated_bytes_ += bytes;
  return Reservation(this, bytes);
}

void Store::note_opens(std::span<const std::uint64_t> opens) {
  std::lock_guard lock(mutex_);
  eviction_.note_opens(opens);
}

Reservation Store::reserve(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 4) return {};
  std::vector<std::uint32_t> from;
  {
    // Most misses of a full cache end here, without waiting for the disk.
    std::lock_guard lock(mutex_);
    if (kind == FrameKind::kNative) eviction_.note_push(dataset);
    Room need = deficit(bytes, 1);
    if (need.none()) return hold(bytes);
    from = who_gives_way(dataset, kind, need);
    if (from.empty()) return {};
  }
  std::lock_guard names(names_mutex_);
  std::unique_lock lock(mutex_);
  Room need = deficit(bytes, 1);
  lock.unlock();
  evict_for(need, from);
  lock.lock();
  return deficit(bytes, 1).none() ? hold(bytes) : Reservation();
}

bool Store::make_room(std::uint32_t dataset, FrameKind kind, std::uint64_t bytes) {
  Room need{std::max<std::uint64_t>(bytes, 1), 1};
  std::unique_lock lock(mutex_);
  std::vector<std::uint32_t> from = who_gives_way(dataset, kind, need);
  lock.unlock();
  if (from.empty()) return false;
  std::lock_guard names(names_mutex_);
  return evict_for(need, from);
}

void Store::keep_limits() {
  std::lock_guard names(names_mutex_);
  std::unique_lock lock(mutex_);
  Room need = deficit(0, 0);
  std::vector<std::uint32_t> all = eviction_.longest_unused_first();
  lock.unlock();
  evict_for(need, all);
}

std::vector<std::uint32_t> Store::who_gives_way(std::uint32_t dataset, FrameKind kind,
                                                Room need) {
  std::vector<Room> evictable;
  for (const Pins& pins : pins_) evictable.push_back(pins.evictable());
  return eviction_.who_gives_way(dataset, kind, need, evictable);
}

bool Store::evict_for(Room need, std::span<const std::uint32_t> from) {
  bool any = false;
  for (std::uint32_t dataset : from) {
    while (!need.none()) {
      std::optional<FrameSeq> victim = choose_victim(dataset);
      if (!victim) break;
      Amount gone = remove(dataset, std::span(&*victim, 1), false);
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
    if (pins_[dataset].evictable().files == 0) return std::nullopt;
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

Temporary Store::make_temporary(std::uint32_t dataset) const {
  Temporary file = disk_.make_temporary(files_[dataset].directory.get());
  int code = errno;
  if (file.fd() < 0) health_.note(code);
  errno = code;
  return file;
}

void Store::publish(std::span<FinishedCopy> batch) {
  flush_data(batch);
  std::lock_guard names(names_mutex_);
  give_names(batch);
  log_batch(batch);
  for (const FinishedCopy& copy : batch) health_.note(copy.status);
}

void Store::flush_data(std::span<FinishedCopy> batch) {
  DiskHealth::Operation operation(health_);
  int together = batch.size() > kSmallBatch ? disk_.sync() : 0;
  for (FinishedCopy& copy : batch) {
    copy.status = together;
    if (batch.size() <= kSmallBatch && ::fdatasync(copy.file.fd()) != 0) copy.status = errno;
  }
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
    auto [below, leaf] = split_name(name_of(copy.dataset, copy.seq));
    UniqueFd directory = make_directory_beneath(files_[copy.dataset].directory.get(), below);
    if (directory.valid()) unindex(directory.get(), leaf.c_str());
    copy.status = directory.valid() ? copy.file.publish(directory.get(), leaf.c_str()) : errno;
    flat = flat && below.empty();
    touched.insert(copy.dataset);
  }
  int code = flush_names(touched, !flat || batch.size() > kSmallBatch);
  for (FinishedCopy& copy : batch) {
    if (copy.status == 0 && code != 0) {
      unlink_copy(copy.dataset, copy.seq);
      copy.status = code;
    }
    if (copy.status == 0 && copy.is_current && !copy.is_current()) {
      unlink_copy(copy.dataset, copy.seq);
      copy.status = ESTALE;
    }
    if (copy.status == 0) index(copy.dataset, copy.file.fd());
  }
}

int Store::flush_names(const std::set<std::uint32_t>& touched, bool all) {
  DiskHealth::Operation operation(health_);
  if (all) return disk_.sync();
  int code = 0;
  for (std::uint32_t dataset : touched) {
    if (::fsync(files_[dataset].directory.get()) != 0) code = errno;
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
      take_in(copy.dataset, copy.seq, copy.kind, copy.bytes);
    }
  }
}

int Store::promote(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard names(names_mutex_);
  std::optional<HeldFrame> held = find(dataset, seq);
  if (!held) return ENOENT;
  if (held->kind == FrameKind::kNative) return 0;
  UniqueFd copy = open_copy(dataset, seq);
  if (!copy.valid()) return errno;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  identity.kind = FrameKind::kNative;
  // Setting an attribute needs the write bit, even for the owner.
  if (::fchmod(copy.get(), kCopyMode | S_IWUSR) != 0) return errno;
  int code = write_identity(copy.get(), identity);
  if (::fchmod(copy.get(), kCopyMode) != 0) return errno;
  if (code == 0 && ::fsync(copy.get()) != 0) code = errno;
  index(dataset, copy.get());
  if (code != 0) return code;

  const FrameSeq one[] = {seq};
  Status done = append(dataset, FrameKind::kNative, one, {}, true);
  if (done.ok()) done = append(dataset, FrameKind::kAlien, {}, one, true);
  if (!done.ok()) return done.error().code;
  std::lock_guard lock(mutex_);
  take_in(dataset, seq, FrameKind::kNative, held->bytes);
  return 0;
}

Amount Store::drop(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  std::lock_guard names(names_mutex_);
  return remove(dataset, frames, true);
}

Store::Evicted Store::evict(std::uint32_t dataset, const Selection& selection) {
  std::vector<FrameSeq> chosen;
  Evicted evicted;
  Amount& amount = evicted.gone;
  {
    std::lock_guard lock(mutex_);
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      if (!(kind == FrameKind::kNative ? selection.natives : selection.aliens)) continue;
      const Inventory::Frames& frames = inventory_.frames(dataset, kind);
      for (auto it = frames.lower_bound(selection.first);
           it != frames.end() && it->first <= selection.last; ++it) {
        if (pins_[dataset].contains(it->first)) {
          ++evicted.pinned;
          continue;
        }
        chosen.push_back(it->first);
        amount.frames += 1;
        amount.bytes += it->second;
      }
    }
  }
  if (selection.dry_run) return evicted;
  amount = {};
  std::span<const FrameSeq> rest = chosen;
  while (!rest.empty()) {
    std::size_t count = std::min(rest.size(), kEvictChunk);
    std::lock_guard names(names_mutex_);
    Amount gone = remove(dataset, rest.first(count), false);
    amount.frames += gone.frames;
    amount.bytes += gone.bytes;
    rest = rest.subspan(count);
    std::lock_guard lock(mutex_);
    evictions_ += gone.frames;
  }
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
  lock.lock();
  pins_[dataset] = std::move(changed);
  *held = recount(dataset, range);
  return 0;
}

void Store::load_pins(std::uint32_t dataset) {
  Result<Pins> pins = Pins::load(files_[dataset].directory.get());
  if (!pins.ok()) {
    log_line(LogLevel::kError, "pins_lost",
             {{"dataset", config_.datasets[dataset].path}, {"error", pins.error().message()}});
  }
  std::lock_guard lock(mutex_);
  if (pins.ok()) pins_[dataset] = std::move(*pins);
  recount(dataset, {});
}

Amount Store::recount(std::uint32_t dataset, FrameRange range) {
  Amount inside;
  Pins& pins = pins_[dataset];
  pins.start_counting();
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    for (auto [seq, bytes] : inventory_.frames(dataset, kind)) {
      pins.count(seq, kind, bytes);
      if (seq < range.first || seq > range.last) continue;
      inside.frames += 1;
      inside.bytes += bytes;
    }
  }
  return inside;
}

void Store::take_in(std::uint32_t dataset, FrameSeq seq, FrameKind kind, std::uint64_t bytes) {
  let_go(dataset, seq);
  inventory_.add(dataset, seq, kind, bytes);
  pins_[dataset].count(seq, kind, bytes);
}

void Store::let_go(std::uint32_t dataset, FrameSeq seq) {
  std::optional<HeldFrame> held = inventory_.find(dataset, seq);
  if (!held) return;
  inventory_.remove(dataset, seq);
  pins_[dataset].discount(seq, held->kind, held->bytes);
}

Amount Store::remove(std::uint32_t dataset, std::span<const FrameSeq> frames, bool durable) {
  Amount amount;
  std::vector<FrameSeq> natives, aliens;
  for (FrameSeq seq : frames) {
    unlink_copy(dataset, seq);
    std::lock_guard lock(mutex_);
    std::optional<HeldFrame> held = inventory_.find(dataset, seq);
    if (!held) continue;
    amount.frames += 1;
    amount.bytes += held->bytes;
    (held->kind == FrameKind::kNative ? natives : aliens).push_back(seq);
    let_go(dataset, seq);
  }
  if (durable) {
    ::fsync(files_[dataset].directory.get());
  }
  // A log that still names a frame does no harm: its reader finds no file and takes the
  // origin, and the next start forgets it.
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    const std::vector<FrameSeq>& gone = kind == FrameKind::kNative ? natives : aliens;
    if (!gone.empty()) (void)append(dataset, kind, {}, gone, durable);
  }
  return amount;
}

int Store::keep_listing(std::uint32_t dataset, const std::string& encoded) {
  static constexpr char kNewListing[] = ".zazen/listing.new";
  std::lock_guard names(names_mutex_);
  int directory = files_[dataset].directory.get();
  UniqueFd fd(::openat(directory, kNewListing,
                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
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
  if (done.ok() && durable) done = log.flush();
  if (!done.ok()) {
    log_line(LogLevel::kError, "log_failed",
             {{"dataset", config_.datasets[dataset].path}, {"error", done.error().message()}});
  }
  return done;
}

void Store::index_copies(std::uint32_t dataset, const std::atomic<bool>& give_up) {
  std::vector<StoredFrame> frames = list(dataset);
  for (std::size_t i = 0; i < frames.size() && !give_up; i += kIndexChunk) {
    std::lock_guard names(names_mutex_);
    for (std::size_t k = i; k < std::min(i + kIndexChunk, frames.size()); ++k) {
      UniqueFd copy =
          open_beneath(files_[dataset].directory.get(), name_of(dataset, frames[k].seq).c_str(),
                       O_RDONLY | O_NOFOLLOW);
      if (copy.valid()) index(dataset, copy.get());
    }
  }
}

void Store::index(std::uint32_t dataset, int copy_fd) {
  struct stat local = {};
  OriginIdentity identity = {};
  if (::fstat(copy_fd, &local) != 0 || !looks_like_copy(local, disk_.dev())) return;
  if (read_identity(copy_fd, &identity) == 0) index_.add(dataset, local, identity);
}

void Store::unindex(int directory_fd, const char* leaf) {
  struct stat local = {};
  if (::fstatat(directory_fd, leaf, &local, AT_SYMLINK_NOFOLLOW) == 0) {
    index_.remove(local.st_ino);
  }
}

void Store::unlink_copy(std::uint32_t dataset, FrameSeq seq) {
  std::string name = name_of(dataset, seq);
  auto [below, leaf] = split_name(name);
  int directory = files_[dataset].directory.get();
  UniqueFd parent = open_beneath(directory, below.empty() ? "." : below.c_str(), O_PATH);
  if (!parent.valid()) return;
  unindex(parent.get(), leaf.c_str());
  ::unlinkat(parent.get(), leaf.c_str(), 0);
  // The directories of the name go with their last frame.
  for (std::size_t slash = name.rfind('/'); slash != std::string::npos;
       slash = name.rfind('/')) {
    name.resize(slash);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0) break;
  }
}

}  // namespace zazen
