// Natives that were pushed before the origin had them (waiting_natives.h, adoption.h).
//
// The identity is flushed before the copy gets its name, so that after a crash every file under
// a frame's name has one.
#include <fcntl.h>

#include "daemon/process/beneath.h"
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
  if (code == 0) directory = make_directory_beneath(files.directory.get(), below);
  if (code == 0 && !directory.valid()) code = errno;
  // A crash must not lose the directory and keep the move into it.
  if (code == 0 && !below.empty()) {
    code = flush_directories_beneath(files.directory.get(), below);
  }
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

}  // namespace zazen
