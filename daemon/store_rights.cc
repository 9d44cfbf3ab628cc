// Who may reach the copies, where many users are served (D15, mirrored_rights.h).
//
// A copy gets its name only while the cache's directories have the rights of the directories
// through which its frame was found. If these are others, or have other rights, the dataset's
// own directory in the cache is closed first, and opened last. Copies whose frames were found
// in another frame directory are dropped in between.
//
// Datasets share the directories above them. If one sees other directories or rights there than
// another one has seen, the other one is closed until it is looked at again.
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "daemon/log.h"
#include "daemon/mirrored_rights.h"
#include "daemon/store.h"

namespace zazen {
namespace {

constexpr std::size_t kPart = 1'024;  // names_mutex_ is let go in between
// Of the dataset's directory in the cache: which frame directory at the origin it mirrors.
constexpr char kFrameDirectoryAttribute[] = "user.zazen.frames";

// Do the datasets see their common directories in the same way?
bool agree(const DatasetConfig& one, const ReachedDirectories& seen_by_one,
           const DatasetConfig& other, const ReachedDirectories& seen_by_other) {
  const std::vector<std::string> a = path_components(one.path), b = path_components(other.path);
  const std::size_t levels = std::min(seen_by_one.size(), seen_by_other.size());
  const std::size_t most = std::min({a.size(), b.size(), levels});
  for (std::size_t i = 0; i < most && a[i] == b[i]; ++i) {
    if (seen_by_one[i] != seen_by_other[i]) return false;
  }
  return true;
}

}  // namespace

// Everybody can read the index: of a copy that not everybody can read, only the copy tells.
bool Store::is_everybodys(std::uint32_t dataset, const struct stat& copy) const {
  std::lock_guard lock(mutex_);
  return (copy.st_mode & kSharedBits) == kSharedBits && open_to_all_.contains(dataset);
}

bool Store::is_mirrored(std::uint32_t dataset, const ReachedDirectories& reached) const {
  if (!config_.all_users) return true;
  std::lock_guard lock(mutex_);
  auto found = mirrored_.find(dataset);
  if (found == mirrored_.end() || !found->second.is_open) return false;
  const ReachedDirectories& own = found->second.directories;
  return own.size() <= reached.size() && std::equal(own.begin(), own.end(), reached.begin());
}

void Store::expect_mirrored(std::uint32_t dataset, const ReachedDirectories& reached) {
  if (!is_mirrored(dataset, reached)) mirror_own_rights(dataset);
}

int Store::grant_way(std::uint32_t dataset, const std::string& below,
                     const ReachedDirectories& reached) const {
  if (!config_.all_users) return 0;
  if (!is_mirrored(dataset, reached)) return EAGAIN;
  return grant_search(files_[dataset].directory.get(), below, reached);
}

// Datasets that this daemon has not looked at yet are as an earlier one left them.
int Store::close_changed(std::uint32_t dataset, const ReachedDirectories& now) {
  std::vector<std::uint32_t> changed;
  std::unique_lock lock(mutex_);
  for (std::uint32_t other = 0; other < datasets(); ++other) {
    auto [entry, is_new] = mirrored_.try_emplace(other);
    Mirrored& mirrored = entry->second;
    const bool agrees = other == dataset
                            ? mirrored.directories == now
                            : !is_new && agree(config_.datasets[dataset], now,
                                               config_.datasets[other], mirrored.directories);
    if (agrees || mirrored.is_closed) continue;
    mirrored.is_open = false;
    changed.push_back(other);
  }
  lock.unlock();
  int code = 0;
  for (std::uint32_t other : changed) {
    int failed = AccessList::nobody().grant(files_[other].directory.get(), Right::kSearch);
    if (failed != 0) code = failed;
    lock.lock();
    mirrored_[other].is_closed = failed == 0;
    lock.unlock();
  }
  return code;
}

// Inode and birth are kept over a restart; the device may have another number then. A directory
// that is empty may be a place where nothing is mounted at present.
int Store::move_to(std::uint32_t dataset, const RightsAtOrigin& now) {
  struct Kept {
    std::uint64_t inode;
    std::int64_t born_ns;
  };
  const FrameDirectory& there = *now.frame_directory;
  std::optional<FrameDirectory>& before = rights_turns_[dataset].frame_directory;
  const int ours = files_[dataset].directory.get();
  Kept kept = {};
  if (!before &&
      ::fgetxattr(ours, kFrameDirectoryAttribute, &kept, sizeof kept) == sizeof kept) {
    before = FrameDirectory{there.dev, kept.inode, kept.born_ns};
  }
  if (before && before->is_same(there)) {
    before = there;
    return 0;
  }
  if (before) {
    if (now.is_empty) return EAGAIN;
    if (int code = drop_all(dataset); code != 0) return code;
  }
  kept = {there.ino, there.born_ns};
  if (::fsetxattr(ours, kFrameDirectoryAttribute, &kept, sizeof kept, 0) != 0) return errno;
  before = there;
  return 0;
}

int Store::mirror(std::uint32_t dataset, const RightsAtOrigin& now) {
  int code = 0;
  {
    std::lock_guard names(names_mutex_);
    code = close_changed(dataset, now.directories);
  }
  if (code == 0 && now.frame_directory) code = move_to(dataset, now);
  if (code != 0) return code;
  std::lock_guard names(names_mutex_);
  // Another dataset may have looked meanwhile.
  code = close_changed(dataset, now.directories);
  if (code != 0) return code;
  code = mirror_rights(disk_.root_fd(), config_.datasets[dataset], now);
  std::lock_guard lock(mutex_);
  mirrored_[dataset] = {now.directories, code == 0, false};
  return code;
}

void Store::mirror_own_rights(std::uint32_t dataset) {
  if (!config_.all_users) return;
  std::lock_guard turn(rights_turns_[dataset].mutex);
  const std::optional<RightsAtOrigin> now = rights_at_origin(config_.datasets[dataset]);
  const int code = now ? mirror(dataset, *now) : 0;
  if (code != 0 && code != EAGAIN) {
    log_line(LogLevel::kError, "rights_not_set",
             {{"dataset", config_.datasets[dataset].path}, {"error", std::strerror(code)}});
  }
  std::unique_lock lock(mutex_);
  if (now && code == 0 && now->is_open_to_all()) {
    if (open_to_all_.insert(dataset).second) rights_turns_[dataset].index_due = true;
    return;
  }
  bool closed = open_to_all_.erase(dataset) != 0;
  lock.unlock();
  if (closed) {
    std::lock_guard names(names_mutex_);  // who is just indexing a copy is done before
  }
  if (closed) index_.remove_dataset(dataset);
}

// The dataset is closed meanwhile, so that no copy gets a name. Natives that wait have not been
// found anywhere yet, and stay.
int Store::drop_all(std::uint32_t dataset) {
  const DatasetFiles& files = files_[dataset];
  const DatasetConfig& config = config_.datasets[dataset];
  std::uint64_t copies = 0;
  auto drop = [&](std::vector<FrameSeq> part) {
    std::lock_guard names(names_mutex_);
    for (FrameSeq seq : part) {
      if (is_waiting(dataset, seq)) (void)unlink_name(dataset, seq);
    }
    std::erase_if(part, [&](FrameSeq seq) { return is_waiting(dataset, seq); });
    copies += remove(dataset, part, true).frames;
  };
  {
    std::lock_guard names(names_mutex_);
    if (int code = files.load_nameless(); code != 0) return code;
    (void)::unlinkat(files.directory.get(), kListingFile, 0);
  }
  drop(files.suspended->frames());
  for (bool is_last : {false, true}) {
    Result<CopyNames> names = CopyNames::open(config, files.directory.get());
    if (!names.ok()) return names.error().code;
    for (std::vector<FrameSeq> part; !(part = names->next(kPart)).empty();) {
      if (!is_last) drop(part);
      for (FrameSeq seq : part) {
        struct stat left = {};
        const bool is_copy = is_last && !is_waiting(dataset, seq) &&
                             ::fstatat(files.directory.get(), name_of(dataset, seq).c_str(),
                                       &left, AT_SYMLINK_NOFOLLOW) == 0 &&
                             S_ISREG(left.st_mode);
        if (is_copy) return EIO;  // the disk does not let it go
      }
    }
  }
  log_line(LogLevel::kWarn, "directory_replaced",
           {{"dataset", config.path},
            {"what", "copies from the directory that was there before are dropped"},
            {"copies", std::to_string(copies)}});
  return 0;
}

// A copy that is not of the frame that is there must not get the rights of its directory. Nor
// must a copy that took its place meanwhile.
void Store::mirror_rights_of_names(std::uint32_t dataset) {
  if (!config_.all_users) return;
  std::lock_guard turn(rights_turns_[dataset].mutex);
  std::string name = name_of(dataset, 0);
  if (name.find('/', config_.datasets[dataset].name.directory_length() + 1) == name.npos)
    return;
  std::unique_lock lock(mutex_);
  std::vector<FrameSeq> frames =
      rights_turns_[dataset].frames.next({&inventory_.table(dataset, FrameKind::kNative),
                                          &inventory_.table(dataset, FrameKind::kAlien)});
  lock.unlock();
  for (FrameSeq seq : frames) {
    name = name_of(dataset, seq);
    const std::string below = name.substr(0, name.rfind('/'));
    const OriginWay way(config_.datasets[dataset].path, below, nullptr);
    const UniqueFd frame = way.open(name.substr(below.size() + 1), O_PATH | O_NOFOLLOW);
    if (!frame.valid() && !says_no(errno)) continue;  // the origin does not say
    ReachedDirectories reached = way.directories();
    struct stat origin = {};
    OriginIdentity copy = {};
    bool is_there = frame.valid() && ::fstat(frame.get(), &origin) == 0;
    std::lock_guard names(names_mutex_);
    if (is_waiting(dataset, seq) || is_suspended(dataset, seq)) continue;
    if (!is_there || read_copy_identity(dataset, seq, &copy) != 0 || !same_file(copy, origin)) {
      reached.back().searchers = AccessList::nobody();
    }
    (void)grant_search(files_[dataset].directory.get(), below, reached);
  }
}

}  // namespace zazen
