// D6 and D22 rest on the order of the steps: name_copies() writes data, flush, name, flush, and
// confirm_copies() log, flush.
//
// A small batch is flushed by one fsync for each file, because fdatasync need not cover its
// mode and its attribute. For more files one syncfs is cheaper. It uses the dataset's own
// directory, by which no other thread syncs, because the kernel reports a failed write only
// once for each open file. An earlier syncfs may have been told of a failed write to a file of
// this batch. So each file is asked, too.
//
// Directories of frames ("run1/7/traj.dcd") are made with a name in them, and empty ones are
// removed, under the same lock.
#include "daemon/store/copy_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "daemon/process/beneath.h"
#include "daemon/process/log.h"

namespace zazen {
namespace {

// A log is written anew when its records exceed twice the held frames by this number.
constexpr std::uint64_t kIdleRecords = 131'072, kRecentRecords = 65'536;
// With less free space than this a refused name does not show that the directory is full.
constexpr std::uint64_t kRoomForNames = 1 << 20;
constexpr std::size_t kDropChunk = 1'024;  // the NamesLock is released between two chunks

}  // namespace

CopyFiles::CopyFiles(const Config& config, const CacheDisk& disk, DiskHealth& health,
                     RoomLedger& ledger, const DirectoryRights& rights)
    : config_(config),
      disk_(disk),
      health_(health),
      ledger_(ledger),
      rights_(rights),
      index_(config.runtime, IndexFile::kFewestSlotsLog2, config.all_users) {
  datasets_.reserve(kMaxDatasets);
}

void CopyFiles::add_dataset(const NamesLock&, DatasetFiles files, DatasetLogs logs) {
  datasets_.push_back(std::move(files));
  logs_.push_back(std::move(logs));
  dataset_count_.store(datasets_.size(), std::memory_order_release);
}

bool CopyFiles::has_lost(std::uint32_t dataset, FrameSeq seq) const {
  NamesLock names = lock_names();
  return ledger_.find(dataset, seq) && !open_copy(dataset, seq).valid() &&
         (errno == ENOENT || errno == ELOOP);
}

UniqueFd CopyFiles::open_copy(std::uint32_t dataset, FrameSeq seq) const {
  for (;;) {
    auto [directory, name] = datasets_[dataset].place_of(seq);
    UniqueFd copy = open_beneath(directory, name.c_str(), O_RDONLY | O_NOFOLLOW);
    const int code = errno;
    const bool has_moved =
        !copy.valid() && code == ENOENT && datasets_[dataset].place_of(seq).first != directory;
    errno = code;
    if (!has_moved) return copy;
  }
}

int CopyFiles::read_copy_identity(std::uint32_t dataset, FrameSeq seq,
                                  OriginIdentity* out) const {
  UniqueFd copy = open_copy(dataset, seq);
  return copy.valid() ? read_identity(copy.get(), out) : errno;
}

Temporary CopyFiles::make_temporary(std::uint32_t dataset) const {
  Temporary file = disk_.make_temporary(datasets_[dataset].directory.get());
  int code = errno;
  if (file.fd() < 0) health_.note(code);
  errno = code;
  return file;
}

void CopyFiles::name_copies(std::span<FinishedCopy> batch) {
  flush_data(batch);
  NamesLock names = lock_names();
  link_names(names, batch);
}

// Another thread that has dropped a copy meanwhile has removed its name.
void CopyFiles::confirm_copies(std::span<FinishedCopy> batch) {
  NamesLock names = lock_names();
  confirm_names(names, batch);
  log_batch(names, batch);
  for (FinishedCopy& copy : batch) note_unconfirmed(names, copy, false);
  for (const FinishedCopy& copy : batch) health_.note(copy.status);
  for (const FinishedCopy& copy : batch) compact(names, copy.dataset, copy.kind);
}

void CopyFiles::flush_data(std::span<FinishedCopy> batch) {
  DiskHealth::Operation operation(health_);
  std::map<std::uint32_t, int> synced;  // by dataset
  for (FinishedCopy& copy : batch) {
    if (batch.size() <= kSmallBatch) {
      copy.status = ::fsync(copy.file.fd()) == 0 ? 0 : errno;
      continue;
    }
    auto [status, first] = synced.try_emplace(copy.dataset);
    if (first) status->second = sync_disk(datasets_[copy.dataset].directory.get());
    copy.status = status->second != 0 ? status->second : copy.file.write_failure();
  }
  // A file system may add blocks of its own, or report only later how many it gave.
  for (FinishedCopy& copy : batch) {
    struct stat local = {};
    if (::fstat(copy.file.fd(), &local) == 0) copy.bytes = std::max(copy.bytes, room_of(local));
  }
}

int CopyFiles::give_name(const NamesLock& names, FinishedCopy& copy, bool* flat) {
  const DatasetFiles& files = datasets_[copy.dataset];
  auto [below, leaf] = split_name(files.name_of(copy.seq));
  if (leaf.empty()) return EINVAL;  // a worker may send a number that is no companion
  *flat = *flat && below.empty();
  if (copy.waits) {
    // In this order: a copy that is at both places after a crash is served by its name.
    int code = files.waiting->publish(copy.file, copy.seq);
    if (code == 0 && files.suspended->contains(copy.seq)) {
      code = files.suspended->remove(copy.seq, files.name_of(copy.seq));
    }
    return code != 0 ? code : unlink_name(names, copy.dataset, copy.seq);
  }
  UniqueFd directory = make_directory_beneath(files.directory.get(), below);
  if (!directory.valid()) return errno;
  int code = rights_.grant_way(names, copy.dataset, files.directory.get(), below, copy.reached);
  if (code != 0) return code;
  unindex(directory.get(), leaf.c_str());
  code = copy.file.publish(directory.get(), leaf.c_str());
  if (code == 0 && files.waiting->contains(copy.seq)) code = files.waiting->remove(copy.seq);
  if (code == 0 && files.suspended->contains(copy.seq)) {
    code = files.suspended->remove(copy.seq, files.name_of(copy.seq));
  }
  return note_full_directory(copy.dataset, code);
}

void CopyFiles::link_names(const NamesLock& names, std::span<FinishedCopy> batch) {
  bool flat = true;
  std::set<std::uint32_t> touched;
  for (FinishedCopy& copy : batch) {
    if (copy.status != 0) continue;
    if (copy.cancelled && copy.cancelled->load()) {
      copy.status = ECANCELED;
      continue;
    }
    note_unconfirmed(names, copy, true);
    copy.status = give_name(names, copy, &flat);
    touched.insert(copy.dataset);
  }
  int code = flush_names(touched, !flat || batch.size() > kSmallBatch);
  for (FinishedCopy& copy : batch) {
    if (copy.status == 0 && code != 0) {
      unlink_copy(names, copy.dataset, copy.seq);
      copy.status = code;
    }
  }
}

void CopyFiles::confirm_names(const NamesLock& names, std::span<FinishedCopy> batch) {
  for (FinishedCopy& copy : batch) {
    struct stat local = {};
    const bool has_name = ::fstat(copy.file.fd(), &local) != 0 || local.st_nlink > 0;
    if (copy.status == ESTALE && has_name) {
      // The removal is durable: after a crash the file would count as a copy that was not
      // logged yet.
      remove(names, copy.dataset, std::span(&copy.seq, 1), true);
    } else if (copy.status == 0 && !has_name) {
      copy.status = ECANCELED;
    } else if (copy.status == 0 && !copy.waits &&
               !datasets_[copy.dataset].suspended->contains(copy.seq)) {
      index(names, copy.dataset, copy.file.fd());
    }
  }
}

void CopyFiles::note_unconfirmed(const NamesLock&, FinishedCopy& copy, bool is_unconfirmed) {
  if (copy.is_unconfirmed == is_unconfirmed) return;
  const std::pair key(copy.dataset, copy.seq);
  is_unconfirmed ? unconfirmed_.insert(key) : unconfirmed_.erase(unconfirmed_.find(key));
  copy.is_unconfirmed = is_unconfirmed;
}

int CopyFiles::flush_names(const std::set<std::uint32_t>& touched, bool all) {
  DiskHealth::Operation operation(health_);
  int code = 0;
  for (std::uint32_t dataset : touched) {
    int directory = datasets_[dataset].directory.get();
    if (all) {
      if (int failed = sync_disk(directory); failed != 0) code = failed;
      continue;
    }
    if (::fsync(directory) != 0) code = errno;
    if (int waiting = datasets_[dataset].waiting->flush(); waiting != 0) code = waiting;
  }
  return code;
}

void CopyFiles::log_batch(const NamesLock& names, std::span<FinishedCopy> batch) {
  struct Records {
    std::vector<FrameSeq> added;
    std::vector<FrameSeq> forgotten;
  };
  std::map<std::pair<std::uint32_t, FrameKind>, Records> records;
  for (const FinishedCopy& copy : batch) {
    if (copy.status != 0) continue;
    records[{copy.dataset, copy.kind}].added.push_back(copy.seq);
    std::optional<HeldFrame> before = ledger_.find(copy.dataset, copy.seq);
    if (before && before->kind != copy.kind) {
      records[{copy.dataset, before->kind}].forgotten.push_back(copy.seq);
    }
  }
  std::set<std::pair<std::uint32_t, FrameKind>> failed;
  int code = 0;
  for (auto& [key, lists] : records) {
    Status done = append(names, key.first, key.second, lists.added, lists.forgotten, true);
    if (done.ok()) continue;
    failed.insert(key);
    code = done.error().code;
  }
  for (FinishedCopy& copy : batch) {
    Reservation room = std::move(copy.reservation);
    if (copy.status != 0) continue;
    if (failed.contains({copy.dataset, copy.kind})) {
      unlink_copy(names, copy.dataset, copy.seq);
      ledger_.remove_held(names, copy.dataset, copy.seq);
      copy.status = code;
    } else {
      ledger_.add_held(names, copy.dataset, copy.seq, copy.kind, copy.bytes, copy.owner,
                       std::move(room));
    }
  }
}

// Setting an attribute needs the write bit, even for the owner. The other bits stay: they are
// the mask of the copy's ACL.
int CopyFiles::replace_identity(int copy_fd, const OriginIdentity& identity) {
  struct stat local = {};
  if (::fstat(copy_fd, &local) != 0) return errno;
  const mode_t mode = local.st_mode & (kCopyMode | kSharedBits);
  if (::fchmod(copy_fd, mode | S_IWUSR) != 0) return errno;
  int code = write_identity(copy_fd, identity);
  return ::fchmod(copy_fd, mode) == 0 ? code : errno;
}

int CopyFiles::promote(std::uint32_t dataset, FrameSeq seq) {
  NamesLock names = lock_names();
  std::optional<HeldFrame> held = ledger_.find(dataset, seq);
  // What the worker of an unconfirmed alien says of it must not drop a native.
  if (!held || is_unconfirmed(names, dataset, seq)) return ENOENT;
  if (held->kind == FrameKind::kNative) return 0;
  if (int code = ledger_.check_share(dataset, held->owner, held->bytes); code != 0) return code;
  UniqueFd copy = open_copy(dataset, seq);
  if (!copy.valid()) return errno;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  identity.kind = FrameKind::kNative;
  int code = replace_identity(copy.get(), identity);
  if (code == 0 && ::fsync(copy.get()) != 0) code = errno;
  if (!datasets_[dataset].suspended->contains(seq)) index(names, dataset, copy.get());
  if (code != 0) return code;

  const FrameSeq one[] = {seq};
  Status done = append(names, dataset, FrameKind::kNative, one, {}, true);
  if (done.ok()) done = append(names, dataset, FrameKind::kAlien, {}, one, true);
  if (!done.ok()) return done.error().code;
  struct stat local = {};
  if (::fstat(copy.get(), &local) != 0) return errno;
  ledger_.add_held(names, dataset, seq, FrameKind::kNative,
                   std::max(held->bytes, room_of(local)), identity.uid);
  return 0;
}

Amount CopyFiles::drop(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  NamesLock names = lock_names();
  return remove(names, dataset, frames, true);
}

Amount CopyFiles::drop_exactly(std::uint32_t dataset, std::span<const ExactCopy> copies,
                               bool durable) {
  NamesLock names = lock_names();
  std::vector<FrameSeq> frames;
  for (const ExactCopy& copy : copies) {
    struct stat local = {};
    auto [directory, name] = datasets_[dataset].place_of(copy.seq);
    UniqueFd now = open_beneath(directory, name.c_str(), O_PATH | O_NOFOLLOW);
    bool missing = !now.valid() && (errno == ENOENT || errno == ELOOP);
    if (!missing && (!now.valid() || ::fstat(now.get(), &local) != 0)) continue;
    if (ExactCopy::of(copy.seq, local) == copy) frames.push_back(copy.seq);
  }
  return remove(names, dataset, frames, durable);
}

void CopyFiles::give_up(FinishedCopy& copy) {
  struct stat local = {};
  if (copy.waits) {
    drop(copy.dataset, std::span(&copy.seq, 1));
  } else if (::fstat(copy.file.fd(), &local) == 0) {
    const ExactCopy exact = ExactCopy::of(copy.seq, local);
    drop_exactly(copy.dataset, std::span(&exact, 1), true);
  }
  note_unconfirmed(lock_names(), copy, false);
}

Amount CopyFiles::remove(const NamesLock& names, std::uint32_t dataset,
                         std::span<const FrameSeq> frames, bool durable) {
  Amount amount;
  std::vector<FrameSeq> natives, aliens;
  for (FrameSeq seq : frames) {
    if (unlink_copy(names, dataset, seq) != 0) continue;  // still held, and compared again
    std::optional<HeldFrame> held = ledger_.remove_held(names, dataset, seq);
    if (!held) continue;
    amount.frames += 1;
    amount.bytes += held->bytes;
    (held->kind == FrameKind::kNative ? natives : aliens).push_back(seq);
  }
  if (amount.frames > 0) full_directories_.clear(dataset);
  if (durable) {
    flush_removals(dataset, frames);
  } else if (!natives.empty()) {
    // A native that waits has no identity by which the next start could tell that it is old.
    datasets_[dataset].waiting->flush();
  }
  // An entry without a copy does no harm in the log: its reader finds no file and reads the
  // origin, and the next start forgets it. But a native's entry must not remain when the frame
  // has come back as an alien.
  for (FrameKind kind : {FrameKind::kNative, FrameKind::kAlien}) {
    const std::vector<FrameSeq>& gone = kind == FrameKind::kNative ? natives : aliens;
    if (gone.empty()) continue;
    (void)append(names, dataset, kind, {}, gone, durable || kind == FrameKind::kNative);
    compact(names, dataset, kind);
  }
  return amount;
}

void CopyFiles::flush_removals(std::uint32_t dataset, std::span<const FrameSeq> frames) {
  if (frames.size() > kSmallBatch) {
    disk_.sync();
    return;
  }
  const DatasetFiles& files = datasets_[dataset];
  for (FrameSeq seq : frames) flush_removal_beneath(files.directory.get(), files.name_of(seq));
  files.waiting->flush();
  files.suspended->flush();
}

// Natives that wait belong to no frame directory yet, and stay.
int CopyFiles::drop_all(std::uint32_t dataset) {
  const DatasetFiles& files = datasets_[dataset];
  const DatasetConfig& config = *files.config;
  std::uint64_t copies = 0;
  auto drop = [&](std::vector<FrameSeq> part) {
    NamesLock names = lock_names();
    for (FrameSeq seq : part) {
      if (files.waiting->contains(seq)) (void)unlink_name(names, dataset, seq);
    }
    std::erase_if(part, [&](FrameSeq seq) { return files.waiting->contains(seq); });
    copies += remove(names, dataset, part, true).frames;
  };
  {
    NamesLock names = lock_names();
    if (int code = files.load_unserved(); code != 0) return code;
    (void)::unlinkat(files.directory.get(), kListingFile, 0);
  }
  drop(files.suspended->frames());
  for (bool is_last : {false, true}) {
    Result<CopyNames> names = CopyNames::open(config, files.directory.get());
    if (!names.ok()) return names.error().code;
    for (std::vector<FrameSeq> part; !(part = names->next(kDropChunk)).empty();) {
      if (!is_last) drop(part);
      for (FrameSeq seq : part) {
        struct stat left = {};
        const bool is_copy = is_last && !files.waiting->contains(seq) &&
                             ::fstatat(files.directory.get(), files.name_of(seq).c_str(), &left,
                                       AT_SYMLINK_NOFOLLOW) == 0 &&
                             S_ISREG(left.st_mode);
        if (is_copy) return EIO;  // the disk does not remove it
      }
    }
  }
  log_line(LogLevel::kWarn, "directory_replaced",
           {{"dataset", config.path},
            {"what", "copies from the directory that was there before are dropped"},
            {"copies", std::to_string(copies)}});
  return 0;
}

bool CopyFiles::evict_for(const NamesLock& names, EvictionPlan plan) {
  bool any = false;
  for (std::uint32_t dataset : plan.from) {
    while (!plan.need.none()) {
      std::optional<FrameSeq> victim = ledger_.choose_victim(dataset);
      if (!victim) break;
      Amount gone = remove(names, dataset, std::span(&*victim, 1), false);
      if (gone.frames == 0) break;  // the disk does not remove it
      plan.need.bytes = excess(plan.need.bytes, gone.bytes);
      plan.need.files = excess(plan.need.files, gone.frames);
      any = true;
      ledger_.count_evictions(gone.frames);
    }
  }
  return any;
}

int CopyFiles::sync_evictions() {
  const RoomLedger::Evictions before = ledger_.evictions();
  if (before.all == before.synced) return 0;
  DiskHealth::Operation operation(health_);
  const int code = disk_.sync();
  if (code == 0) ledger_.note_synced(before.all);
  return code;
}

int CopyFiles::keep_listing(std::uint32_t dataset, const std::string& encoded,
                            const ReachedDirectories& reached) {
  static constexpr char kNewListing[] = ".zazen/listing.new";
  NamesLock names = lock_names();
  if (!rights_.is_mirrored(dataset, reached)) return EAGAIN;
  int directory = datasets_[dataset].directory.get();
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

Status CopyFiles::append(const NamesLock&, std::uint32_t dataset, FrameKind kind,
                         std::span<const FrameSeq> added, std::span<const FrameSeq> forgotten,
                         bool durable) {
  DiskHealth::Operation operation(health_);
  SequenceLog& log = logs_[dataset].log(kind);
  Status done = log.append(added, forgotten);
  // The disk may not have given back the room of evicted copies yet.
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

// The last entries stay in their order and at the end, because a start looks there for young
// copies. Log and inventory must agree.
void CopyFiles::compact(const NamesLock&, std::uint32_t dataset, FrameKind kind) {
  SequenceLog& log = logs_[dataset].log(kind);
  const char* name = kind == FrameKind::kNative ? kNativeLog : kAlienLog;
  const int directory = datasets_[dataset].directory.get();
  if (log.records() > 2 * ledger_.files(dataset, kind) + kIdleRecords) {
    std::vector<FrameSeq> frames = ledger_.frames(dataset, kind);
    std::vector<FrameSeq> recent = log.added_since(log.records() - kRecentRecords);
    std::erase_if(recent,
                  [&](FrameSeq seq) { return !std::ranges::binary_search(frames, seq); });
    frames.insert(frames.end(), recent.begin(), recent.end());
    (void)log.write_anew(directory, name, frames);
  }
  if (log.wants_summary()) (void)log.summarize(directory, name);
}

bool CopyFiles::directory_is_full(std::uint32_t dataset) const {
  return full_directories_.contains(dataset, monotonic_ms());
}

// Passes on the result of naming a copy: EMLINK if the directory takes no more names although
// the disk has room.
int CopyFiles::note_full_directory(std::uint32_t dataset, int code) {
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

void CopyFiles::index(const NamesLock&, std::uint32_t dataset, const struct stat& local,
                      const OriginIdentity& identity) {
  if (rights_.is_everybodys(dataset, local)) index_.add(dataset, local, identity);
}

void CopyFiles::index(const NamesLock&, std::uint32_t dataset, int copy_fd) {
  struct stat local = {};
  OriginIdentity identity = {};
  if (::fstat(copy_fd, &local) != 0 || !looks_like_copy(local, disk_.dev())) return;
  if (rights_.is_everybodys(dataset, local) && read_identity(copy_fd, &identity) == 0) {
    index_.add(dataset, local, identity);
  }
}

void CopyFiles::unindex_dataset(std::uint32_t dataset) {
  { NamesLock names = lock_names(); }  // waits for a thread that is indexing a copy
  index_.remove_dataset(dataset);
}

void CopyFiles::unindex(int directory_fd, const char* leaf) {
  struct stat local = {};
  if (::fstatat(directory_fd, leaf, &local, AT_SYMLINK_NOFOLLOW) == 0) {
    index_.remove(local.st_ino);
  }
}

int CopyFiles::unlink_copy(const NamesLock& names, std::uint32_t dataset, FrameSeq seq) {
  const DatasetFiles& files = datasets_[dataset];
  int code = 0;
  if (files.waiting->contains(seq)) {
    code = files.waiting->remove(seq);
  } else if (files.suspended->contains(seq)) {
    code = files.suspended->remove(seq, files.name_of(seq));
  } else {
    return unlink_name(names, dataset, seq);
  }
  health_.note(code);
  return code;
}

int CopyFiles::unlink_name(const NamesLock&, std::uint32_t dataset, FrameSeq seq) {
  std::string name = datasets_[dataset].name_of(seq);
  auto [below, leaf] = split_name(name);
  int directory = datasets_[dataset].directory.get();
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
  // The directories of the name are removed with their last frame.
  for (std::size_t slash = name.rfind('/'); slash != std::string::npos;
       slash = name.rfind('/')) {
    name.resize(slash);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0) break;
  }
  return 0;
}

}  // namespace zazen
