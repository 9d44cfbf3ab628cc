#include "daemon/store/directory_rights.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "daemon/origin/mirrored_rights.h"
#include "daemon/process/beneath.h"
#include "daemon/process/log.h"
#include "daemon/store/copy_files.h"

namespace zazen {
namespace {

// An attribute of the dataset's directory in the cache: the frame directory that it mirrors.
constexpr char kFrameDirectoryAttribute[] = "user.zazen.frames";
struct KeptDirectory {
  std::uint64_t inode;
  std::int64_t born_ns;
  std::uint32_t owner, group;
};
constexpr dev_t kUnknownDevice = ~dev_t{0};  // after a restart

// True if the datasets see their common directories in the same way.
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

// The number of directories on the way, in the form in which a worker reports them.
std::size_t levels_of(const DatasetConfig& dataset, const std::string& below) {
  return path_components(dataset.path).size() + path_components(below).size();
}

}  // namespace

bool DirectoryRights::is_everybodys(std::uint32_t dataset, const struct stat& copy) const {
  if (!config_.all_users) return true;
  std::lock_guard lock(mutex_);
  return (copy.st_mode & kSharedBits) == kSharedBits && open_to_all_.contains(dataset);
}

bool DirectoryRights::is_mirrored(std::uint32_t dataset,
                                  const ReachedDirectories& reached) const {
  if (!config_.all_users) return true;
  std::lock_guard lock(mutex_);
  auto found = mirrored_.find(dataset);
  if (found == mirrored_.end() || !found->second.is_open) return false;
  const ReachedDirectories& own = found->second.directories;
  return own.size() <= reached.size() && std::equal(own.begin(), own.end(), reached.begin());
}

int DirectoryRights::grant_way(const NamesLock&, std::uint32_t dataset, int directory_fd,
                               const std::string& below,
                               const ReachedDirectories& reached) const {
  if (!config_.all_users) return 0;
  if (reached.size() != levels_of(config_.datasets[dataset], below)) return EINVAL;
  if (!is_mirrored(dataset, reached)) return EAGAIN;
  return grant_search(directory_fd, below, reached);
}

// Datasets that this daemon has not compared yet are as an earlier one left them.
int DirectoryRights::close_changed(const NamesLock&, const CopyFiles& copies,
                                   std::uint32_t dataset, const ReachedDirectories& now) {
  std::vector<std::uint32_t> changed;
  std::unique_lock lock(mutex_);
  for (std::uint32_t other = 0; other < copies.datasets(); ++other) {
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
    int failed =
        AccessList::nobody().grant(copies.dataset(other).directory.get(), Right::kSearch);
    if (failed != 0) code = failed;
    lock.lock();
    mirrored_[other].is_closed = failed == 0;
    lock.unlock();
  }
  return code;
}

void DirectoryRights::load_frame_directory(const TakenTurn& turn, int directory_fd) {
  KeptDirectory kept = {};
  if (turn->frame_directory ||
      ::fgetxattr(directory_fd, kFrameDirectoryAttribute, &kept, sizeof kept) != sizeof kept) {
    return;
  }
  turn->frame_directory =
      FrameDirectory{kUnknownDevice, kept.inode, kept.born_ns, kept.owner, kept.group};
}

std::optional<std::pair<uid_t, gid_t>> DirectoryRights::directory_owner(std::uint32_t dataset,
                                                                        int directory_fd) {
  TakenTurn turn(turns_[dataset]);
  load_frame_directory(turn, directory_fd);
  const std::optional<FrameDirectory>& known = turn->frame_directory;
  if (!known) return std::nullopt;
  return std::pair(known->owner, known->group);
}

// Inode and birth stay the same over a restart; the device may get another number. An empty
// directory may be a mount point where nothing is mounted at the moment.
int DirectoryRights::move_to(const TakenTurn& turn, CopyFiles& copies, std::uint32_t dataset,
                             const RightsAtOrigin& now) {
  const FrameDirectory& there = *now.frame_directory;
  const int directory_fd = copies.dataset(dataset).directory.get();
  load_frame_directory(turn, directory_fd);
  std::optional<FrameDirectory>& before = turn->frame_directory;
  if (before && before->dev == kUnknownDevice) before->dev = there.dev;
  if (before && before->is_same(there)) {
    before = there;
    return 0;
  }
  if (before) {
    if (now.is_empty) return EAGAIN;
    if (int code = copies.drop_all(dataset); code != 0) return code;
  }
  const KeptDirectory kept = {there.ino, there.born_ns, there.owner, there.group};
  if (::fsetxattr(directory_fd, kFrameDirectoryAttribute, &kept, sizeof kept, 0) != 0) {
    return errno;
  }
  before = there;
  return 0;
}

int DirectoryRights::mirror(const TakenTurn& turn, CopyFiles& copies, std::uint32_t dataset,
                            const RightsAtOrigin& now) {
  const DatasetConfig& config = config_.datasets[dataset];
  const std::string below(config.name.directory(), config.name.directory_length());
  if (now.directories.size() != levels_of(config, below)) return EINVAL;
  int code = 0;
  {
    NamesLock names = copies.lock_names();
    code = close_changed(names, copies, dataset, now.directories);
  }
  if (code == 0 && now.frame_directory) code = move_to(turn, copies, dataset, now);
  if (code != 0) return code;
  NamesLock names = copies.lock_names();
  // Another dataset may have mirrored a look meanwhile.
  code = close_changed(names, copies, dataset, now.directories);
  if (code != 0) return code;
  code = mirror_rights(disk_.root_fd(), config, now);
  std::lock_guard lock(mutex_);
  mirrored_[dataset] = {now.directories, code == 0, false};
  return code;
}

void DirectoryRights::mirror_own_rights(CopyFiles& copies, std::uint32_t dataset,
                                        std::uint64_t look,
                                        const std::optional<RightsAtOrigin>& now) {
  if (!config_.all_users) return;
  TakenTurn turn(turns_[dataset]);
  if (look < turn->mirrored_look) return;
  turn->mirrored_look = look;
  const int code = now ? mirror(turn, copies, dataset, *now) : 0;
  if (code != 0 && code != EAGAIN) {
    log_line(LogLevel::kError, "rights_not_set",
             {{"dataset", config_.datasets[dataset].path}, {"error", std::strerror(code)}});
  }
  std::unique_lock lock(mutex_);
  if (now && code == 0 && now->is_open_to_all()) {
    if (open_to_all_.insert(dataset).second) turn->index_due = true;
    return;
  }
  bool closed = open_to_all_.erase(dataset) != 0;
  lock.unlock();
  if (closed) copies.unindex_dataset(dataset);
}

std::vector<FrameSeq> DirectoryRights::next_names_to_mirror(const RoomLedger& ledger,
                                                            std::uint32_t dataset) {
  if (!config_.all_users) return {};
  TakenTurn turn(turns_[dataset]);
  const DatasetConfig& config = config_.datasets[dataset];
  const std::string name = frame_name(config, 0);
  if (name.find('/', config.name.directory_length() + 1) == name.npos) {
    return {};
  }
  return ledger.next(turn->frames, dataset);
}

// The copy must be of the frame that the origin has, or it would get the rights of another
// directory. So must a copy that took its place meanwhile.
void DirectoryRights::mirror_rights_of_names(const CopyFiles& copies, std::uint32_t dataset,
                                             const std::vector<FrameSeq>& frames,
                                             const std::vector<FrameRights>& rights) {
  const DatasetFiles& files = copies.dataset(dataset);
  for (std::size_t i = 0; i < std::min(frames.size(), rights.size()); ++i) {
    const FrameSeq seq = frames[i];
    if (!rights[i].is_known || rights[i].reached.empty()) continue;  // the origin does not say
    const std::string below = split_name(files.name_of(seq)).first;
    if (rights[i].reached.size() < path_components(below).size()) continue;
    ReachedDirectories reached = rights[i].reached;
    OriginIdentity copy = {};
    NamesLock names = copies.lock_names();
    if (files.waiting->contains(seq) || files.suspended->contains(seq)) continue;
    if (!rights[i].is_there || copies.read_copy_identity(dataset, seq, &copy) != 0 ||
        !same_file(copy, rights[i].origin)) {
      reached.back().searchers = AccessList::nobody();
    }
    (void)grant_search(files.directory.get(), below, reached);
  }
}

}  // namespace zazen
