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
#include <set>

#include "daemon/beneath.h"
#include "daemon/log.h"
#include "daemon/mirrored_rights.h"
#include "daemon/start_error.h"

namespace zazen {
namespace {

// names_mutex_ is let go in between.
constexpr std::size_t kEvictChunk = 1024, kIndexChunk = 64;
constexpr std::size_t kRightsInTurn = 1000;

// "run1/7/traj.dcd" is "traj.dcd" in "run1/7".
std::pair<std::string, std::string> split_name(const std::string& name) {
  std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

std::uint64_t excess(std::uint64_t wanted, std::uint64_t limit) {
  return wanted > limit ? wanted - limit : 0;
}

// To each directory of "run1/7" its list.
int grant_search(int directory_fd, const std::string& below,
                 const std::vector<AccessList>& lists) {
  std::size_t end = 0;
  for (const AccessList& list : lists) {
    end = std::min(below.find('/', end), below.size());
    UniqueFd directory =
        open_beneath(directory_fd, below.substr(0, end++).c_str(), O_RDONLY | O_DIRECTORY);
    if (!directory.valid()) return errno;
    if (int code = list.grant(directory.get(), Right::kSearch); code != 0) return code;
  }
  return 0;
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
    for (FrameSeq seq : done->fetched_lately) store->fetched_lately_.emplace_back(i, seq);
    if (done->forgotten + done->adopted + done->removed > 0) {
      log_line(LogLevel::kInfo, "reconciled",
               {{"dataset", dataset.path},
                {"forgotten", std::to_string(done->forgotten)},
                {"adopted", std::to_string(done->adopted)},
                {"removed", std::to_string(done->removed)}});
    }
  }
  // The limits may have been lowered since the last time.
  std::lock_guard names(store->names_mutex_);
  std::unique_lock lock(store->mutex_);
  Deficit need = store->deficit(0, 0);
  lock.unlock();
  if (!need.none()) store->evict_for(need);
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

int Store::read_copy_identity(std::uint32_t dataset, FrameSeq seq, OriginIdentity* out) const {
  UniqueFd copy = open_beneath(files_[dataset].directory.get(), name_of(dataset, seq).c_str(),
                               O_RDONLY | O_NOFOLLOW);
  return copy.valid() ? read_identity(copy.get(), out) : errno;
}

StoreUsage Store::usage() const {
  std::lock_guard lock(mutex_);
  StoreUsage usage{inventory_.total_bytes(), inventory_.total_files(), evictions_, {}};
  for (std::uint32_t i = 0; i < inventory_.datasets(); ++i) {
    usage.datasets.push_back({inventory_.frames(i, FrameKind::kNative).size(),
                              inventory_.frames(i, FrameKind::kAlien).size(),
                              inventory_.bytes(i)});
  }
  return usage;
}

std::vector<StoredFrame> Store::list(std::uint32_t dataset) const {
  std::vector<StoredFrame> frames;
  {
    std::lock_guard lock(mutex_);
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      for (auto [seq, bytes] : inventory_.frames(dataset, kind)) {
        frames.push_back({dataset, seq, {kind, bytes}});
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

Store::Deficit Store::deficit(std::uint64_t bytes, std::uint64_t files) const {
  Deficit need;
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

Reservation Store::reserve(FrameKind kind, std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 4) return {};
  {
    std::lock_guard lock(mutex_);
    if (deficit(bytes, 1).none()) return hold(bytes);
  }
  if (kind == FrameKind::kAlien) return {};
  std::lock_guard names(names_mutex_);
  std::unique_lock lock(mutex_);
  Deficit need = deficit(bytes, 1);
  if (need.bytes > inventory_.alien_bytes() || need.files > inventory_.alien_files()) return {};
  lock.unlock();
  if (!need.none()) evict_for(need);
  lock.lock();
  return deficit(bytes, 1).none() ? hold(bytes) : Reservation();
}

bool Store::evict_aliens(std::uint64_t bytes) {
  std::lock_guard names(names_mutex_);
  return evict_for({std::max<std::uint64_t>(bytes, 1), 1});
}

bool Store::evict_for(Deficit need) {
  bool any = false;
  for (std::uint32_t i = 0; i < files_.size() && !need.none(); ++i) {
    std::vector<FrameSeq> victims;
    {
      // From the end: a program that scans in order still finds the beginning.
      std::lock_guard lock(mutex_);
      const Inventory::Frames& aliens = inventory_.frames(i, FrameKind::kAlien);
      for (auto it = aliens.rbegin(); it != aliens.rend() && !need.none(); ++it) {
        victims.push_back(it->first);
        need.bytes = excess(need.bytes, it->second);
        need.files = excess(need.files, 1);
      }
    }
    if (victims.empty()) continue;
    any = true;
    Amount gone = remove(i, victims, false);
    std::lock_guard lock(mutex_);
    evictions_ += gone.frames;
  }
  return any;
}

Temporary Store::make_temporary(std::uint32_t dataset) const {
  return disk_.make_temporary(files_[dataset].directory.get());
}

void Store::publish(std::span<FinishedCopy> batch) {
  flush_data(batch);
  std::lock_guard names(names_mutex_);
  give_names(batch);
  log_batch(batch);
}

void Store::flush_data(std::span<FinishedCopy> batch) {
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
    if (directory.valid() && !copy.directories.empty()) {
      copy.status = grant_search(files_[copy.dataset].directory.get(), below, copy.directories);
      if (copy.status != 0) continue;
    }
    if (directory.valid()) unindex(directory.get(), leaf.c_str());
    copy.status = directory.valid() ? copy.file.publish(directory.get(), leaf.c_str()) : errno;
    flat = flat && below.empty();
    touched.insert(copy.dataset);
  }
  int code = 0;
  if (!flat || batch.size() > kSmallBatch) {
    code = disk_.sync();
  } else {
    for (std::uint32_t dataset : touched) {
      if (::fsync(files_[dataset].directory.get()) != 0) code = errno;
    }
  }
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
      inventory_.remove(copy.dataset, copy.seq);
      copy.status = code;
    } else {
      inventory_.add(copy.dataset, copy.seq, copy.kind, copy.bytes);
    }
  }
}

int Store::promote(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard names(names_mutex_);
  std::optional<HeldFrame> held = find(dataset, seq);
  if (!held) return ENOENT;
  if (held->kind == FrameKind::kNative) return 0;
  UniqueFd copy = open_beneath(files_[dataset].directory.get(), name_of(dataset, seq).c_str(),
                               O_RDONLY | O_NOFOLLOW);
  if (!copy.valid()) return errno;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  identity.kind = FrameKind::kNative;
  // Setting an attribute needs the write bit, even for the owner. The other bits stay: they
  // are the mask of the copy's ACL.
  struct stat local = {};
  if (::fstat(copy.get(), &local) != 0) return errno;
  const mode_t mode = local.st_mode & (kCopyMode | kSharedBits);
  if (::fchmod(copy.get(), mode | S_IWUSR) != 0) return errno;
  int code = write_identity(copy.get(), identity);
  if (::fchmod(copy.get(), mode) != 0) return errno;
  if (code == 0 && ::fsync(copy.get()) != 0) code = errno;
  index(dataset, copy.get());
  if (code != 0) return code;

  const FrameSeq one[] = {seq};
  Status done = append(dataset, FrameKind::kNative, one, {}, true);
  if (done.ok()) done = append(dataset, FrameKind::kAlien, {}, one, true);
  if (!done.ok()) return done.error().code;
  std::lock_guard lock(mutex_);
  inventory_.add(dataset, seq, FrameKind::kNative, held->bytes);
  return 0;
}

Amount Store::drop(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  std::lock_guard names(names_mutex_);
  return remove(dataset, frames, true);
}

Amount Store::evict(std::uint32_t dataset, const Selection& selection) {
  std::vector<FrameSeq> chosen;
  Amount amount;
  {
    std::lock_guard lock(mutex_);
    for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
      if (!(kind == FrameKind::kNative ? selection.natives : selection.aliens)) continue;
      const Inventory::Frames& frames = inventory_.frames(dataset, kind);
      for (auto it = frames.lower_bound(selection.first);
           it != frames.end() && it->first <= selection.last; ++it) {
        chosen.push_back(it->first);
        amount.frames += 1;
        amount.bytes += it->second;
      }
    }
  }
  if (selection.dry_run) return amount;
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
  return amount;
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
    inventory_.remove(dataset, seq);
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
  if (config_.all_users && !is_everybodys(dataset, local)) return;
  if (read_identity(copy_fd, &identity) == 0) index_.add(dataset, local, identity);
}

// Everybody can read the index: of a copy that not everybody can read, only the copy tells.
bool Store::is_everybodys(std::uint32_t dataset, const struct stat& copy) const {
  std::lock_guard lock(mutex_);
  return (copy.st_mode & kSharedBits) == kSharedBits && open_to_all_.contains(dataset);
}

void Store::mirror_rights(std::uint32_t dataset) {
  if (!config_.all_users) return;
  bool open_to_all = false;
  int code = zazen::mirror_rights(disk_.root_fd(), config_.datasets[dataset], &open_to_all);
  if (code != 0) {
    log_line(LogLevel::kError, "rights_not_set",
             {{"dataset", config_.datasets[dataset].path}, {"error", std::strerror(code)}});
  }
  {
    std::lock_guard lock(mutex_);
    if (open_to_all) {
      open_to_all_.insert(dataset);
    } else {
      open_to_all_.erase(dataset);
    }
  }
  mirror_rights_of_names(dataset);
}

// Where each frame has a directory of its own, some at a time, in turn.
void Store::mirror_rights_of_names(std::uint32_t dataset) {
  std::string name = name_of(dataset, 0);
  if (name.find('/', config_.datasets[dataset].name.directory_length() + 1) == name.npos)
    return;
  std::vector<StoredFrame> frames = list(dataset);
  std::size_t& next = next_rights_[dataset];
  for (std::size_t i = 0; i < std::min(frames.size(), kRightsInTurn); ++i, ++next) {
    name = name_of(dataset, frames[next % frames.size()].seq);
    (void)grant_search(files_[dataset].directory.get(), split_name(name).first,
                       rights_of_directories(config_.datasets[dataset], name));
  }
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
