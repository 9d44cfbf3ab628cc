#include "daemon/reconcile.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "bodhi/identity.h"
#include "daemon/beneath.h"
#include "daemon/start_error.h"
#include "daemon/young_copies.h"

namespace zazen {
namespace {

struct FoundFile {
  FrameSeq seq;
  struct stat st;
};

std::string name_of(const DatasetConfig& config, FrameSeq seq) {
  char name[kMaxTemplate + 32];
  return std::string(name, config.name.format(seq, name, sizeof name));
}

// Everything but a directory that has the name of a frame, oldest first.
Result<std::vector<FoundFile>> find_files(const DatasetFiles& files) {
  const FrameName& name = files.config->name;
  std::string below(name.directory(), name.directory_length());
  UniqueFd fd = open_beneath(files.directory.get(), below.empty() ? "." : below.c_str(),
                             O_RDONLY | O_DIRECTORY);
  if (!fd.valid() && errno == ENOENT) return std::vector<FoundFile>();
  DIR* directory = fd.valid() ? ::fdopendir(fd.release()) : nullptr;
  if (directory == nullptr)
    return failed_call("cannot list the copies of " + files.config->path);
  std::vector<FoundFile> found;
  while (dirent* entry = ::readdir(directory)) {
    FoundFile file = {};
    if (!name.match_entry(entry->d_name, std::strlen(entry->d_name), &file.seq)) continue;
    std::string path = name_of(*files.config, file.seq);
    if (::fstatat(files.directory.get(), path.c_str(), &file.st, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (!S_ISDIR(file.st.st_mode)) found.push_back(file);
  }
  ::closedir(directory);
  std::sort(found.begin(), found.end(), [](const FoundFile& a, const FoundFile& b) {
    return std::pair(a.st.st_ctim.tv_sec, a.st.st_ctim.tv_nsec) <
           std::pair(b.st.st_ctim.tv_sec, b.st.st_ctim.tv_nsec);
  });
  return found;
}

// The kind of a whole copy by its attribute; nothing if it is none. A promotion that was cut
// short loses its write bit.
std::optional<FrameKind> kind_by_identity(const DatasetFiles& files, const FoundFile& file,
                                          dev_t cache_dev) {
  if (!looks_like_copy(file.st, cache_dev)) return std::nullopt;
  UniqueFd fd = open_beneath(files.directory.get(), name_of(*files.config, file.seq).c_str(),
                             O_RDONLY | O_NOFOLLOW);
  OriginIdentity identity = {};
  if (!fd.valid() || read_identity(fd.get(), &identity) != 0) return std::nullopt;
  if (identity.size != static_cast<std::uint64_t>(file.st.st_size)) return std::nullopt;
  if (identity.kind != FrameKind::kNative && identity.kind != FrameKind::kAlien) {
    return std::nullopt;
  }
  if ((file.st.st_mode & S_IWUSR) != 0) ::fchmod(fd.get(), kCopyMode);
  return identity.kind;
}

Status amend(SequenceLog& log, std::vector<FrameSeq> added, std::vector<FrameSeq> forgotten) {
  if (added.empty() && forgotten.empty()) return Done{};
  if (Status done = log.append(added, forgotten); !done.ok()) return whole(done.error());
  if (Status done = log.flush(); !done.ok()) return whole(done.error());
  return Done{};
}

}  // namespace

Result<Reconciled> reconcile(DatasetFiles& files, dev_t cache_dev, std::uint32_t dataset,
                             Inventory& inventory) {
  Result<std::vector<FoundFile>> found = find_files(files);
  if (!found.ok()) return found.error();

  const FrameSet& native = files.native_log.loaded();
  const FrameSet& alien = files.alien_log.loaded();
  std::vector<FrameSeq> new_natives, new_aliens, lost_natives, lost_aliens;
  Reconciled result;
  for (const FoundFile& file : *found) {
    bool in_native = native.contains(file.seq);
    bool in_alien = alien.contains(file.seq);
    std::optional<FrameKind> kind;
    if (in_native != in_alien && looks_like_copy(file.st, cache_dev) &&
        (file.st.st_mode & S_IWUSR) == 0) {
      kind = in_native ? FrameKind::kNative : FrameKind::kAlien;
    } else {
      kind = kind_by_identity(files, file, cache_dev);
      if (kind && !(*kind == FrameKind::kNative ? in_native : in_alien)) {
        (*kind == FrameKind::kNative ? new_natives : new_aliens).push_back(file.seq);
        ++result.adopted;
      }
    }
    if (!kind) {
      ::unlinkat(files.directory.get(), name_of(*files.config, file.seq).c_str(), 0);
      ++result.removed;
      continue;
    }
    inventory.add(dataset, file.seq, *kind, static_cast<std::uint64_t>(file.st.st_size));
    if (*kind == FrameKind::kAlien && changed_lately(file.st)) {
      result.fetched_lately.push_back(file.seq);
    }
  }
  for (FrameSeq seq : native.frames()) {
    std::optional<HeldFrame> held = inventory.find(dataset, seq);
    if (!held || held->kind == FrameKind::kAlien) lost_natives.push_back(seq);
  }
  for (FrameSeq seq : alien.frames()) {
    std::optional<HeldFrame> held = inventory.find(dataset, seq);
    if (!held || held->kind == FrameKind::kNative) lost_aliens.push_back(seq);
  }
  result.forgotten = lost_natives.size() + lost_aliens.size();

  Status done = amend(files.native_log, std::move(new_natives), std::move(lost_natives));
  if (done.ok()) {
    done = amend(files.alien_log, std::move(new_aliens), std::move(lost_aliens));
  }
  if (!done.ok()) return done.error();
  return result;
}

}  // namespace zazen
