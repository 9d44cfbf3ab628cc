// Natives that were pushed before the origin had them (waiting_natives.h, adoption.h).
//
// The identity is flushed before the copy gets its name, so that whatever a crash leaves under
// a frame's name has one.
#include <fcntl.h>

#include "daemon/beneath.h"
#include "daemon/store.h"

namespace zazen {
namespace {

// The copy keeps its mode, whatever it comes to.
int write_identity_of_copy(int fd, const OriginIdentity& identity, const struct stat& origin) {
  if (::fchmod(fd, kCopyMode | S_IWUSR) != 0) return errno;
  int code = write_identity(fd, identity);
  const timespec times[] = {origin.st_atim, origin.st_mtim};
  if (code == 0 && ::futimens(fd, times) != 0) code = errno;
  if (::fchmod(fd, kCopyMode) != 0 && code == 0) code = errno;
  return code;
}

}  // namespace

bool Store::is_waiting(std::uint32_t dataset, FrameSeq seq) const {
  return files_[dataset].waiting->contains(seq);
}

std::uint64_t Store::waiting(std::uint32_t dataset) const {
  return files_[dataset].waiting->size();
}

int Store::adopt(std::uint32_t dataset, FrameSeq seq, UniqueFd copy, const struct stat& origin,
                 const AccessList& readers, const ReachedDirectories& reached) {
  OriginIdentity identity = {};
  if (int code = read_identity(copy.get(), &identity); code != 0) return code;
  if (identity.size != static_cast<std::uint64_t>(origin.st_size)) return ESTALE;
  identity = identity_of(origin, FrameKind::kNative, identity.checksum);
  int code = write_identity_of_copy(copy.get(), identity, origin);
  if (code == 0 && config_.all_users) code = readers.grant(copy.get(), Right::kRead);
  if (code == 0 && ::fsync(copy.get()) != 0) code = errno;
  if (code != 0) return code;

  std::lock_guard names(names_mutex_);
  const DatasetFiles& files = files_[dataset];
  struct stat local = {}, there = {};
  if (!files.waiting->contains(seq) || ::fstat(copy.get(), &local) != 0 ||
      ::fstatat(files.waiting->directory(), WaitingNatives::name_of(seq).c_str(), &there,
                AT_SYMLINK_NOFOLLOW) != 0 ||
      local.st_ino != there.st_ino) {
    return ENOENT;  // it was replaced or dropped meanwhile
  }
  auto [below, leaf] = split_name(name_of(dataset, seq));
  UniqueFd directory = make_directory_beneath(files.directory.get(), below);
  if (!directory.valid()) return errno;
  // A crash must not take the directory and leave the move into it.
  if (!below.empty()) code = flush_directories_beneath(files.directory.get(), below);
  if (code != 0) return code;
  code = grant_way(dataset, below, reached);
  if (code != 0) return code;
  code = files.waiting->move_out(seq, directory.get(), leaf.c_str());
  // Nor must the move be lost when frame and directory go: it would be back where it waited.
  if (code == 0 && !below.empty() && ::fsync(directory.get()) != 0) code = errno;
  if (code == 0) {
    index(dataset, copy.get());
    std::lock_guard lock(mutex_);
    note_owner(origin.st_uid);
    if (std::optional<HeldFrame> held = inventory_.find(dataset, seq)) {
      inventory_.learn(dataset, seq, held->bytes, owner_key(origin.st_uid));
    }
  }
  return note_full_directory(dataset, code);
}

}  // namespace zazen
