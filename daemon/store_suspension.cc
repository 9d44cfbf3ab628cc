// Copies of frames that somebody may be writing (suspended_copies.h, D25).
#include <fcntl.h>

#include <algorithm>

#include "daemon/beneath.h"
#include "daemon/clock_tick.h"
#include "daemon/store.h"

namespace zazen {

bool Store::is_suspended(std::uint32_t dataset, FrameSeq seq) const {
  return files_[dataset].suspended->contains(seq);
}

std::uint64_t Store::epoch(std::uint32_t dataset, FrameSeq seq) const {
  return files_[dataset].suspended->epoch(seq);
}

std::vector<FrameSeq> Store::suspended(std::uint32_t dataset) const {
  return files_[dataset].suspended->frames();
}

// A copy under its name need not be in a log yet: it may be between its name and its record.
int Store::suspend(std::uint32_t dataset, FrameSeq seq) {
  std::lock_guard names(names_mutex_);
  const DatasetFiles& files = files_[dataset];
  if (files.suspended->begin_epoch(seq) == 0) return 0;
  // The origin that it waits for comes to be written just now.
  if (files.waiting->contains(seq)) return EBUSY;
  const std::string name = name_of(dataset, seq);
  UniqueFd copy = open_beneath(files.directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW);
  if (!copy.valid()) return errno == ENOTDIR ? ENOENT : errno;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  // A write within that tick would not be seen by its time.
  if (!is_tick_over(std::max(identity.mtime_ns, identity.ctime_ns))) return EBUSY;
  struct stat local = {};
  if (::fstat(copy.get(), &local) == 0) index_.remove(local.st_ino);
  int code = files.suspended->move_in(seq, files.directory.get(), name);
  health_.note(code);
  return code;
}

int Store::renew(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch, UniqueFd copy,
                 const struct stat& origin, const AccessList& readers) {
  std::lock_guard names(names_mutex_);
  if (epoch == 0 || files_[dataset].suspended->epoch(seq) != epoch) return EAGAIN;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  int code = config_.all_users ? readers.grant(copy.get(), Right::kRead) : 0;
  if (code != 0) return code;
  return replace_identity(copy.get(), identity_of(origin, identity.kind, identity.checksum));
}

int Store::restore(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch) {
  std::lock_guard names(names_mutex_);
  const DatasetFiles& files = files_[dataset];
  if (epoch == 0 || files.suspended->epoch(seq) != epoch) return EAGAIN;
  if (!find(dataset, seq)) return ENOENT;  // it has just come, and is not in a log yet
  const std::string name = name_of(dataset, seq);
  const std::string below = split_name(name).first;
  UniqueFd directory = open_beneath(files.directory.get(), below.empty() ? "." : below.c_str(),
                                    O_PATH | O_DIRECTORY);
  if (!directory.valid()) {
    // The directories of its name went with other frames; with them went who may search them.
    if (errno != ENOENT || config_.all_users) return errno;
    if (!make_directory_beneath(files.directory.get(), below).valid()) return errno;
    int code = flush_directories_beneath(files.directory.get(), below);
    if (code != 0) return code;
  }
  if (int code = files.suspended->move_out(seq, files.directory.get(), name); code != 0) {
    health_.note(code);
    return code;
  }
  if (UniqueFd copy = open_copy(dataset, seq); copy.valid()) index(dataset, copy.get());
  return 0;
}

}  // namespace zazen
