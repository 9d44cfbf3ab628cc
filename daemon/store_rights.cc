// Who may reach the copies, where many users are served (D15, mirrored_rights.h).
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "daemon/log.h"
#include "daemon/mirrored_rights.h"
#include "daemon/store.h"

namespace zazen {

// Everybody can read the index: of a copy that not everybody can read, only the copy tells.
bool Store::is_everybodys(std::uint32_t dataset, const struct stat& copy) const {
  std::lock_guard lock(mutex_);
  return (copy.st_mode & kSharedBits) == kSharedBits && open_to_all_.contains(dataset);
}

bool Store::mirror_own_rights(std::uint32_t dataset) {
  if (!config_.all_users) return false;
  std::lock_guard turn(rights_turns_[dataset].mutex);
  bool open_to_all = false;
  int code = zazen::mirror_rights(disk_.root_fd(), config_.datasets[dataset], &open_to_all);
  if (code != 0) {
    log_line(LogLevel::kError, "rights_not_set",
             {{"dataset", config_.datasets[dataset].path}, {"error", std::strerror(code)}});
  }
  std::unique_lock lock(mutex_);
  if (open_to_all) return open_to_all_.insert(dataset).second;
  bool closed = open_to_all_.erase(dataset) != 0;
  lock.unlock();
  if (closed) {
    std::lock_guard names(names_mutex_);  // who is just indexing a copy is done before
  }
  if (closed) index_.remove_dataset(dataset);
  return false;
}

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
    (void)grant_search(files_[dataset].directory.get(), name.substr(0, name.rfind('/')),
                       rights_of_directories(config_.datasets[dataset], name));
  }
}

}  // namespace zazen
