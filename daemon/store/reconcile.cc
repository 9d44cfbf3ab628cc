#include "daemon/store/reconcile.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bodhi/common/directory_entries.h"
#include "bodhi/lean/frames/table.h"
#include "daemon/capacity/pins.h"
#include "daemon/origin/trust.h"
#include "daemon/process/beneath.h"
#include "daemon/process/start_error.h"

namespace zazen {
namespace {

constexpr char kNativeTable[] = ".zazen/native.table";
constexpr char kAlienTable[] = ".zazen/alien.table";

std::optional<DatasetLogs> resume(int directory_fd, std::uint64_t stamp, HeldTables& held) {
  using Seal = std::optional<FrameTable::Seal>;
  Seal natives = held.table(FrameKind::kNative).keep_in(directory_fd, kNativeTable, stamp);
  Seal aliens = held.table(FrameKind::kAlien).keep_in(directory_fd, kAlienTable, stamp);
  if (!natives || !aliens) return std::nullopt;
  Result<SequenceLog> native =
      SequenceLog::resume(directory_fd, kNativeLog, natives->log_bytes);
  Result<SequenceLog> alien = SequenceLog::resume(directory_fd, kAlienLog, aliens->log_bytes);
  if (!native.ok() || !alien.ok()) return std::nullopt;
  held.newest = natives->newest;
  return DatasetLogs{std::move(*native), std::move(*alien)};
}

Result<SequenceLog> replay(int directory_fd, const char* log, const char* table_file,
                           FrameTable& table) {
  table = FrameTable();
  table.keep_in(directory_fd, table_file, 0);
  struct stat st = {};
  if (::fstatat(directory_fd, log, &st, AT_SYMLINK_NOFOLLOW) == 0) {
    table.reserve(static_cast<std::uint64_t>(st.st_size) / SequenceLog::kRecordBytes);
  }
  return SequenceLog::open(directory_fd, log, [&](FrameSeq seq, bool held) {
    if (held) {
      table.set(seq, FrameTable::kUnknown);
    } else {
      table.erase(seq);
    }
  });
}

Status forget_aliens_that_are_natives(SequenceLog& alien_log, HeldTables& held) {
  const FrameTable& natives = held.table(FrameKind::kNative);
  FrameTable& aliens = held.table(FrameKind::kAlien);
  std::vector<FrameSeq> both;
  if (natives.size() > 0) {
    aliens.for_each([&](FrameSeq seq, std::uint64_t) {
      if (natives.find(seq)) both.push_back(seq);
    });
  }
  if (both.empty()) return Done{};
  for (FrameSeq seq : both) aliens.erase(seq);
  return alien_log.append({}, both);
}

// Removes the companions that only the former names know.
void remove_former(const DatasetConfig& config, const FrameName& former, int directory_fd) {
  struct stat top = {};
  const std::string below(former.directory(), former.directory_length());
  UniqueFd fd =
      open_beneath(directory_fd, below.empty() ? "." : below.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd.valid() || ::fstat(fd.get(), &top) != 0) return;
  visit_entries(fd.get(), 64 * 1024, [&](std::string_view name, std::uint64_t, std::uint8_t) {
    FrameSeq seq;
    struct stat st = {};
    const bool is_former = former.match_held_entry(name.data(), name.size(), &seq) &&
                           former.is_companion(seq) &&
                           !config.name.match_held_entry(name.data(), name.size(), &seq);
    const std::string leaf(name);
    if (is_former && ::fstatat(fd.get(), leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        looks_like_copy(st, top.st_dev)) {
      ::unlinkat(fd.get(), leaf.c_str(), 0);
    }
    return true;
  });
}

// Other patterns number other names. False: the patterns are those of the last daemon.
bool renew_companions(const DatasetConfig& config, int directory_fd, int cache_state_fd) {
  char before[kMaxAlso] = {};
  const ssize_t length = ::fgetxattr(directory_fd, kAlsoAttribute, before, sizeof before - 1);
  const std::string also(before, length > 0 ? static_cast<std::size_t>(length) : 0);
  if (also == config.also) return false;
  FrameName former;
  const char* why = nullptr;
  if (FrameName::parse(config.frames.data(), config.frames.size(), &former, &why) &&
      former.add_also(also.data(), also.size(), &why)) {
    remove_former(config, former, directory_fd);
    const UniqueFd suspended = open_beneath(cache_state_fd, ("suspended" + config.path).c_str(),
                                            O_RDONLY | O_DIRECTORY);
    if (suspended.valid()) remove_former(config, former, suspended.get());
  }
  if (config.also.empty()) {
    ::fremovexattr(directory_fd, kAlsoAttribute);
  } else {
    ::fsetxattr(directory_fd, kAlsoAttribute, config.also.data(), config.also.size(), 0);
  }
  return true;
}

}  // namespace

std::string frame_name(const DatasetConfig& config, FrameSeq seq) {
  char name[kMaxTemplate + 32];
  return std::string(name, config.name.format(seq, name, sizeof name));
}

std::string DatasetFiles::name_of(FrameSeq seq) const {
  return frame_name(*config, seq);
}

std::pair<int, std::string> DatasetFiles::place_of(FrameSeq seq) const {
  if (waiting->contains(seq)) return {waiting->directory(), WaitingNatives::name_of(seq)};
  return {suspended->contains(seq) ? suspended->directory() : directory.get(), name_of(seq)};
}

int DatasetFiles::load_unserved() const {
  auto has_name = [this](FrameSeq seq) {
    struct stat st = {};
    return ::fstatat(directory.get(), name_of(seq).c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (int code = waiting->load(has_name); code != 0) return code;
  return suspended->load([&](FrameSeq seq) { return has_name(seq) || waiting->contains(seq); });
}

Result<LoadedDataset> load_dataset(const DatasetConfig& config, UniqueFd directory,
                                   int cache_state_fd, std::uint64_t stamp,
                                   PendingCopies& pending, std::uint32_t index) {
  int fd = directory.get();
  HeldTables held;
  const Flush flush = flush_at_start(stamp != 0);
  if (renew_companions(config, fd, cache_state_fd)) stamp = 0;
  std::optional<DatasetLogs> logs = resume(fd, stamp, held);
  bool resumed = logs.has_value();
  if (!logs) {
    Result<SequenceLog> native =
        replay(fd, kNativeLog, kNativeTable, held.table(FrameKind::kNative));
    if (!native.ok()) return whole(native.error());
    Result<SequenceLog> alien =
        replay(fd, kAlienLog, kAlienTable, held.table(FrameKind::kAlien));
    if (!alien.ok()) return whole(alien.error());
    logs = DatasetLogs{std::move(*native), std::move(*alien)};
    Status done = forget_aliens_that_are_natives(logs->alien, held);
    if (!done.ok()) return whole(done.error());
  }
  Result<std::unique_ptr<WaitingNatives>> waiting =
      WaitingNatives::open(fd, pending, index, flush);
  if (!waiting.ok()) return waiting.error();
  Result<std::unique_ptr<SuspendedCopies>> suspended =
      SuspendedCopies::open(cache_state_fd, config, pending, index, flush);
  if (!suspended.ok()) return suspended.error();
  DatasetFiles files{&config, std::move(directory), std::move(*waiting), std::move(*suspended)};
  // If the disk fails here, it is asked again when the files are compared.
  if (files.load_unserved() != 0) resumed = false;
  return LoadedDataset{std::move(files), std::move(*logs), std::move(held), resumed};
}

// The log is in the order of publication, which is nearly the order of the copies' times. After
// some copies in a row that are not young, no earlier one is young.
std::vector<FrameSeq> fetched_lately(const DatasetFiles& files, const SequenceLog& aliens) {
  constexpr std::uint64_t kMostRecords = 65'536;
  constexpr int kEnough = 16;
  std::uint64_t records = aliens.records();
  std::vector<FrameSeq> added = aliens.added_since(records - std::min(records, kMostRecords));
  std::vector<FrameSeq> young;
  int old = 0;
  for (auto it = added.rbegin(); it != added.rend() && old < kEnough; ++it) {
    struct stat st = {};
    if (::fstatat(files.directory.get(), files.name_of(*it).c_str(), &st,
                  AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (changed_lately(st)) {
      young.push_back(*it);
      old = 0;
    } else {
      ++old;
    }
  }
  std::sort(young.begin(), young.end());
  young.erase(std::unique(young.begin(), young.end()), young.end());
  return young;
}

Result<CopyNames> CopyNames::open(const DatasetConfig& dataset, int directory_fd) {
  const FrameName& name = dataset.name;
  std::string below(name.directory(), name.directory_length());
  UniqueFd fd =
      open_beneath(directory_fd, below.empty() ? "." : below.c_str(), O_RDONLY | O_DIRECTORY);
  if (!fd.valid() && errno == ENOENT) return CopyNames(name, nullptr);
  DIR* directory = fd.valid() ? ::fdopendir(fd.get()) : nullptr;
  if (directory == nullptr) {
    return failed_call("cannot list the copies of " + dataset.path);
  }
  fd.release();
  return CopyNames(name, directory);
}

CopyNames::CopyNames(CopyNames&& other) noexcept
    : name_(other.name_), directory_(std::exchange(other.directory_, nullptr)) {}

CopyNames::~CopyNames() {
  if (directory_ != nullptr) ::closedir(directory_);
}

std::vector<FrameSeq> CopyNames::next(std::size_t count) {
  std::vector<FrameSeq> frames;
  while (directory_ != nullptr && frames.size() < count) {
    dirent* entry = ::readdir(directory_);
    if (entry == nullptr) break;
    FrameSeq seq;
    if (name_.match_held_entry(entry->d_name, std::strlen(entry->d_name), &seq)) {
      frames.push_back(seq);
    }
  }
  return frames;
}

FoundCopy look_at_copy(const DatasetFiles& files, FrameSeq seq, dev_t cache_dev,
                       const std::optional<HeldFrame>& held) {
  using State = FoundCopy::State;
  FoundCopy found;
  found.waits = files.waiting->contains(seq);
  found.is_suspended = files.suspended->contains(seq);
  auto [directory, name] = files.place_of(seq);
  if (::fstatat(directory, name.c_str(), &found.local, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) found.state = State::kUnreadable;
    return found;
  }
  found.state = S_ISDIR(found.local.st_mode) ? State::kDirectory : State::kBroken;
  if (!looks_like_copy(found.local, cache_dev)) return found;
  UniqueFd fd = open_beneath(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  OriginIdentity identity = {};
  if (fd.valid() && read_identity(fd.get(), &identity) == 0 &&
      identity.size == static_cast<std::uint64_t>(found.local.st_size)) {
    found.identity = identity;
  }
  bool names_kind = found.identity &&
                    (identity.kind == FrameKind::kNative || identity.kind == FrameKind::kAlien);
  // An interrupted promotion leaves the write bit, and perhaps half an attribute.
  bool was_cut_short = (found.local.st_mode & S_IWUSR) != 0;
  if (names_kind && was_cut_short) {
    ::fchmod(fd.get(), found.local.st_mode & (kCopyMode | kSharedBits));
  }
  if (names_kind || (held && !was_cut_short)) {
    found.state = State::kWhole;
    found.kind = names_kind ? identity.kind : held->kind;
  }
  return found;
}

}  // namespace zazen
