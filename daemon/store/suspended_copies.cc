#include "daemon/store/suspended_copies.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "daemon/disk/cache_disk.h"
#include "daemon/process/start_error.h"
#include "daemon/store/reconcile.h"

namespace zazen {

Result<std::unique_ptr<SuspendedCopies>> SuspendedCopies::open(int state_fd,
                                                               const DatasetConfig& dataset,
                                                               PendingCopies& pending,
                                                               std::uint32_t index,
                                                               Flush flush) {
  std::string below = "suspended" + dataset.path;
  if (std::size_t fixed = dataset.name.directory_length(); fixed != 0) {
    below += "/" + std::string(dataset.name.directory(), fixed);
  }
  if (!make_directory_beneath(state_fd, below, flush).valid()) {
    return failed_call("directory of the suspended copies");
  }
  UniqueFd directory =
      open_beneath(state_fd, ("suspended" + dataset.path).c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory.valid()) return failed_call("directory of the suspended copies");
  return std::unique_ptr<SuspendedCopies>(
      new SuspendedCopies(std::move(directory), dataset, pending, index));
}

void SuspendedCopies::add(FrameSeq seq) {
  Suspended fresh{0, PendingCopies::Mark(pending_, index_, seq)};
  auto& copy = frames_.try_emplace(seq, std::move(fresh)).first->second;
  copy.epoch = ++last_epoch_;
}

int SuspendedCopies::load(const std::function<bool(FrameSeq)>& is_elsewhere) {
  {
    std::lock_guard lock(mutex_);
    if (loaded_) return 0;
  }
  Result<CopyNames> names = CopyNames::open(dataset_, directory());
  if (!names.ok()) return names.error().code;
  std::vector<FrameSeq> found;
  for (;;) {
    std::vector<FrameSeq> some = names->next(1024);
    if (some.empty()) break;
    found.insert(found.end(), some.begin(), some.end());
  }
  for (FrameSeq seq : found) {
    const std::string name = frame_name(dataset_, seq);
    struct stat st = {};
    bool is_copy = ::fstatat(directory(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(st.st_mode);
    if (!is_copy || is_elsewhere(seq)) {
      if (int code = remove(seq, name); code != 0) return code;
      continue;
    }
    std::lock_guard lock(mutex_);
    add(seq);
  }
  std::lock_guard lock(mutex_);
  loaded_ = true;
  return 0;
}

std::uint64_t SuspendedCopies::epoch(FrameSeq seq) const {
  std::lock_guard lock(mutex_);
  auto found = frames_.find(seq);
  return found == frames_.end() ? 0 : found->second.epoch;
}

std::vector<FrameSeq> SuspendedCopies::frames() const {
  std::lock_guard lock(mutex_);
  std::vector<FrameSeq> frames;
  for (const auto& [seq, copy] : frames_) frames.push_back(seq);
  return frames;
}

std::size_t SuspendedCopies::size() const {
  std::lock_guard lock(mutex_);
  return frames_.size();
}

int SuspendedCopies::move_in(FrameSeq seq, int dataset_fd, const std::string& name) {
  const std::string below = split_name(name).first;
  // A directory that is there has been flushed.
  if (!open_beneath(directory(), below.empty() ? "." : below.c_str(), O_PATH).valid()) {
    if (!make_directory_beneath(directory(), below, Flush::kAll).valid()) return errno;
  }
  std::lock_guard lock(mutex_);
  add(seq);  // programs see that it is pending before its name goes
  if (::renameat(dataset_fd, name.c_str(), directory(), name.c_str()) != 0) {
    const int code = errno;
    frames_.erase(seq);
    return code;
  }
  unflushed_ = true;
  return 0;
}

int SuspendedCopies::begin_epoch(FrameSeq seq) {
  std::lock_guard lock(mutex_);
  auto found = frames_.find(seq);
  if (found == frames_.end()) return ENOENT;
  found->second.epoch = ++last_epoch_;
  return 0;
}

int SuspendedCopies::move_out(FrameSeq seq, int dataset_fd, const std::string& name) {
  std::lock_guard lock(mutex_);
  if (::renameat(directory(), name.c_str(), dataset_fd, name.c_str()) != 0) return errno;
  // A crash must not keep the removal of its directory and lose the move out of it.
  bool is_flushed = true;
  if (dataset_.name.entry_is_directory()) {
    UniqueFd there =
        open_beneath(dataset_fd, split_name(name).first.c_str(), O_RDONLY | O_DIRECTORY);
    is_flushed = there.valid() && ::fsync(there.get()) == 0;
  }
  forget(seq, is_flushed ? name : "");
  return 0;
}

int SuspendedCopies::remove(FrameSeq seq, const std::string& name) {
  std::lock_guard lock(mutex_);
  if (::unlinkat(directory(), name.c_str(), 0) != 0 && errno != ENOENT && errno != ENOTDIR &&
      errno != EISDIR) {
    return errno;
  }
  forget(seq, name);
  return 0;
}

// Directories that have the number in their names go with the frame. mutex_ is held.
void SuspendedCopies::forget(FrameSeq seq, std::string name) {
  for (std::size_t slash = name.rfind('/');
       slash != std::string::npos && slash > dataset_.name.directory_length();
       slash = name.rfind('/')) {
    name.resize(slash);
    if (::unlinkat(directory(), name.c_str(), AT_REMOVEDIR) != 0) break;
  }
  frames_.erase(seq);
  unflushed_ = true;
}

int SuspendedCopies::flush() {
  {
    std::lock_guard lock(mutex_);
    if (!unflushed_) return 0;
    unflushed_ = false;
  }
  const bool is_flat =
      dataset_.name.directory_length() == 0 && !dataset_.name.entry_is_directory();
  const int code = !is_flat ? sync_disk(directory()) : ::fsync(directory()) == 0 ? 0 : errno;
  if (code == 0) return 0;
  std::lock_guard lock(mutex_);
  unflushed_ = true;
  return code;
}

}  // namespace zazen
