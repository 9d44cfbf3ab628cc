#include "daemon/changes/known_lives.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/system/raw_call.h"

namespace zazen {

KnownLives::KnownLives(int state_fd) : state_fd_(state_fd) {
  UniqueFd file(::openat(state_fd, kFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::vector<std::uint64_t> read(kMost);
  long size = file.valid() ? raw_read_at(file.get(), reinterpret_cast<char*>(read.data()),
                                         kMost * sizeof read[0], 0)
                           : 0;
  read.resize(static_cast<std::size_t>(std::max(size, 0L)) / sizeof read[0]);
  lives_.assign(read.begin(), read.end());
}

bool KnownLives::has_met(std::uint64_t life) const {
  std::lock_guard lock(mutex_);
  return std::ranges::find(lives_, life) != lives_.end();
}

// The file is written under another name and renamed, so that a reader never sees a part of it.
void KnownLives::remember(std::uint64_t life) {
  std::lock_guard lock(mutex_);
  if (std::ranges::find(lives_, life) != lives_.end()) return;
  lives_.push_back(life);
  if (lives_.size() > kMost) lives_.pop_front();
  const std::vector<std::uint64_t> all(lives_.begin(), lives_.end());
  const std::string next = std::string(kFile) + ".new";
  UniqueFd file(::openat(state_fd_, next.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() || raw_write_all(file.get(), reinterpret_cast<const char*>(all.data()),
                                     all.size() * sizeof all[0]) != 0) {
    return;
  }
  (void)::renameat(state_fd_, next.c_str(), state_fd_, kFile);
}

}  // namespace zazen
