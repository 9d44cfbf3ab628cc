#include "preload/frames/moved_directories.h"

#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/frames/daemon_link.h"
#include "preload/process/settings.h"

namespace zazen {
namespace {

DirectoryKey key_now(const DatasetMatcher& place) {
  DirectoryKey key = {};
  place.trust.directory.forget();
  return place.path_length != 0 && frame_directory(place, &key) ? key : DirectoryKey{};
}

}  // namespace

bool leads_to_directory(int dirfd, const char* path) {
  if (!settings.active || guard_is_raised() || !may_be_string(path)) return false;
  ErrnoKeeper keep;
  struct stat st;
  return raw::fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

MovedDirectories::MovedDirectories() {
  ErrnoKeeper keep;
  bool alive = false;
  node_ = current_node(&alive);
  for (std::uint32_t i = 0; node_ != nullptr && i < node_->table->dataset_count; ++i) {
    before_[i] = key_now(node_->places[i]);
  }
}

void MovedDirectories::tell() const {
  ErrnoKeeper keep;
  look_again();
  for (std::uint32_t i = 0; node_ != nullptr && i < node_->table->dataset_count; ++i) {
    const DatasetMatcher& place = node_->places[i];
    if (key_now(place) == before_[i]) continue;
    place.trust.distrusted.store(true);
    Route route;
    route.place = &place;
    route.node = node_;
    route.dataset = i;
    request_sample(route);
  }
}

}  // namespace zazen
