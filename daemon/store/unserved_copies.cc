// CopyFiles, continued: copies that the node holds and does not serve, because they are not
// under their frames' names. Natives wait until the origin has them (waiting_natives.h). Copies
// of frames that a program may be writing are suspended (suspended_copies.h).
//
// The identity is flushed before the copy gets its name, so that after a crash every file under
// a frame's name has one.
#include <fcntl.h>

#include <algorithm>

#include "daemon/process/beneath.h"
#include "daemon/process/clock_tick.h"
#include "daemon/store/copy_files.h"

namespace zazen {
namespace {

// The copy keeps its mode in every case.
int write_identity_of_copy(int fd, const OriginIdentity& identity, const struct stat& origin) {
  if (::fchmod(fd, kCopyMode | S_IWUSR) != 0) return errno;
  int code = write_identity(fd, identity);
  const timespec times[] = {origin.st_atim, origin.st_mtim};
  if (code == 0 && ::futimens(fd, times) != 0) code = errno;
  if (::fchmod(fd, kCopyMode) != 0 && code == 0) code = errno;
  return code;
}

}  // namespace

int CopyFiles::adopt(std::uint32_t dataset, FrameSeq seq, UniqueFd copy,
                     const struct stat& origin, const AccessList& readers,
                     const ReachedDirectories& reached) {
  OriginIdentity waiting = {};
  if (int code = read_identity(copy.get(), &waiting); code != 0) return code;
  if (waiting.size != static_cast<std::uint64_t>(origin.st_size)) return ESTALE;
  // With the lock all the time: another worker's word must not come in between.
  NamesLock names = lock_names();
  const DatasetFiles& files = datasets_[dataset];
  struct stat local = {}, there = {};
  if (!files.waiting->contains(seq) || ::fstat(copy.get(), &local) != 0 ||
      ::fstatat(files.waiting->directory(), WaitingNatives::name_of(seq).c_str(), &there,
                AT_SYMLINK_NOFOLLOW) != 0 ||
      local.st_ino != there.st_ino) {
    return ENOENT;  // it was replaced or dropped meanwhile
  }
  const OriginIdentity identity = identity_of(origin, FrameKind::kNative, waiting.checksum);
  int code = write_identity_of_copy(copy.get(), identity, origin);
  if (code == 0 && config_.all_users) code = readers.grant(copy.get(), Right::kRead);
  if (code == 0 && ::fsync(copy.get()) != 0) code = errno;
  auto [below, leaf] = split_name(files.name_of(seq));
  UniqueFd directory;
  // A crash must not lose the directory and keep the move into it.
  if (code == 0) directory = make_directory_beneath(files.directory.get(), below, Flush::kAll);
  if (code == 0 && !directory.valid()) code = errno;
  if (code == 0) {
    code = rights_.grant_way(names, dataset, files.directory.get(), below, reached);
  }
  if (code == 0) code = files.waiting->move_out(seq, directory.get(), leaf.c_str());
  if (code != 0) {  // it waits as before
    (void)write_identity_of_copy(copy.get(), unknown_identity(waiting.size, waiting.checksum),
                                 origin);
    if (config_.all_users) (void)AccessList::nobody().grant(copy.get(), Right::kRead);
    return note_full_directory(dataset, code);
  }
  // If the frame and its directory are removed, a crash must not undo the move: the copy would
  // wait again.
  if (!below.empty() && ::fsync(directory.get()) != 0) code = errno;
  if (code == 0) {
    index(names, dataset, copy.get());
    if (std::optional<HeldFrame> held = ledger_.find(dataset, seq)) {
      ledger_.learn(names, dataset, seq, held->bytes, origin.st_uid);
    }
  }
  return note_full_directory(dataset, code);
}

// A copy under its name need not be in a log yet: it may be between its name and its record.
int CopyFiles::suspend(std::uint32_t dataset, FrameSeq seq) {
  NamesLock names = lock_names();
  const DatasetFiles& files = datasets_[dataset];
  if (files.suspended->begin_epoch(seq) == 0) return 0;
  // The origin that it waits for comes to be written just now.
  if (files.waiting->contains(seq)) return EBUSY;
  const std::string name = files.name_of(seq);
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

int CopyFiles::renew(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch, UniqueFd copy,
                     const struct stat& origin, const AccessList& readers) {
  NamesLock names = lock_names();
  if (epoch == 0 || datasets_[dataset].suspended->epoch(seq) != epoch) return EAGAIN;
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  if (static_cast<std::uint64_t>(origin.st_size) != identity.size) return EINVAL;
  int code = config_.all_users ? readers.grant(copy.get(), Right::kRead) : 0;
  if (code != 0) return code;
  return replace_identity(copy.get(), identity_of(origin, identity.kind, identity.checksum));
}

int CopyFiles::restore(std::uint32_t dataset, FrameSeq seq, std::uint64_t epoch) {
  NamesLock names = lock_names();
  const DatasetFiles& files = datasets_[dataset];
  if (epoch == 0 || files.suspended->epoch(seq) != epoch) return EAGAIN;
  if (!ledger_.find(dataset, seq)) return ENOENT;  // it has just come, and is not in a log yet
  const std::string name = files.name_of(seq);
  const std::string below = split_name(name).first;
  UniqueFd directory = open_beneath(files.directory.get(), below.empty() ? "." : below.c_str(),
                                    O_PATH | O_DIRECTORY);
  if (!directory.valid()) {
    // The directories of its name went with other frames; with them went who may search them.
    if (errno != ENOENT || config_.all_users) return errno;
    if (!make_directory_beneath(files.directory.get(), below, Flush::kAll).valid()) {
      return errno;
    }
  }
  if (int code = files.suspended->move_out(seq, files.directory.get(), name); code != 0) {
    health_.note(code);
    return code;
  }
  if (UniqueFd copy = open_copy(dataset, seq); copy.valid()) index(names, dataset, copy.get());
  return 0;
}

}  // namespace zazen
