// The calls that create, remove or move a name, and truncate. If a name can be created, there
// was no file: a copy under this name belongs to a frame that is gone.
#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/daemon_link.h"
#include "preload/frames/frame_change.h"
#include "preload/process/settings.h"

namespace raw = zazen::raw;
using zazen::change_followed;
using zazen::change_frame;
using zazen::change_route;
using zazen::remove_frame;

namespace {

// `from` is the frame of the first name.
template <class Forward>
int change_two(const zazen::Route& from, int to, const char* new_path, Forward forward) {
  return change_route(from, [&] { return change_frame(to, new_path, forward); });
}

// The path names a directory or a symbolic link. Costs one lstat; false if the shim is
// inactive.
bool leads_to_directory(int dirfd, const char* path) {
  if (!zazen::settings.active || zazen::guard_is_raised() || !zazen::may_be_string(path))
    return false;
  zazen::ErrnoKeeper keep;
  struct stat st;
  return raw::fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         (S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode));
}

// Surrounds the renaming of a directory or a link, which may replace a dataset's directory. It
// looks up the datasets' directories before and after. For each dataset whose directory has
// changed, it asks the daemon to compare a sample of the copies with the origin. A stale copy
// then makes all programs check each open of the dataset (D10).
class MovedDirectories {
 public:
  MovedDirectories() {
    zazen::ErrnoKeeper keep;
    bool alive = false;
    node_ = zazen::current_node(&alive);
    for (std::uint32_t i = 0; node_ != nullptr && i < node_->table->dataset_count; ++i) {
      before_[i] = key_now(node_->matchers[i]);
    }
  }
  void tell() const {
    zazen::ErrnoKeeper keep;
    zazen::forget_lookups();
    for (std::uint32_t i = 0; node_ != nullptr && i < node_->table->dataset_count; ++i) {
      const zazen::DatasetMatcher& matcher = node_->matchers[i];
      if (key_now(matcher) == before_[i]) continue;
      matcher.trust.distrusted.store(true);
      zazen::Route route;
      route.matcher = &matcher;
      route.node = node_;
      route.dataset = i;
      zazen::request_sample(route);
    }
  }

 private:
  static zazen::DirectoryKey key_now(const zazen::DatasetMatcher& matcher) {
    zazen::DirectoryKey key = {};
    matcher.trust.directory.forget();
    return matcher.path_length != 0 && zazen::frame_directory(matcher, &key)
               ? key
               : zazen::DirectoryKey{};
  }

  const zazen::Node* node_;
  zazen::DirectoryKey before_[zazen::kMaxDatasets];
};

// The path may be a dataset's directory, or lead to one.
template <class Forward>
[[gnu::noinline]] int move_directory(Forward forward) {
  MovedDirectories moved;
  int result = forward();
  if (result == 0) moved.tell();
  return result;
}

template <class Forward>
int change_two(int from, const char* old_path, int to, const char* new_path, Forward forward) {
  zazen::Route route = zazen::route_of_name(from, old_path);
  auto change = [&] { return change_two(route, to, new_path, forward); };
  return leads_to_directory(from, old_path) || leads_to_directory(to, new_path)
             ? move_directory(change)
             : change();
}

// remove(3) is unlink for a file and rmdir for a directory.
int raw_remove(const char* path) {
  int result = raw::unlinkat(AT_FDCWD, path, 0);
  if (result != 0 && errno == EISDIR) result = raw::unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
  return result;
}

}  // namespace

ZAZEN_HOOK int unlink(const char* path) {
  return remove_frame(AT_FDCWD, path, [&] { return ZAZEN_CALL(unlink, path); });
}

ZAZEN_HOOK int unlinkat(int dirfd, const char* path, int flags) {
  return remove_frame(dirfd, path, [&] { return ZAZEN_CALL(unlinkat, dirfd, path, flags); });
}

ZAZEN_HOOK int remove(const char* path) {
  return remove_frame(AT_FDCWD, path,
                      [&] { return ZAZEN_FORWARD(remove, (path), raw_remove(path)); });
}

ZAZEN_HOOK int rename(const char* old_path, const char* new_path) {
  return change_two(AT_FDCWD, old_path, AT_FDCWD, new_path,
                    [&] { return ZAZEN_CALL(rename, old_path, new_path); });
}

ZAZEN_HOOK int renameat(int from, const char* old_path, int to, const char* new_path) {
  return change_two(from, old_path, to, new_path,
                    [&] { return ZAZEN_CALL(renameat, from, old_path, to, new_path); });
}

ZAZEN_HOOK int renameat2(int from, const char* old_path, int to, const char* new_path,
                         unsigned flags) {
  return change_two(from, old_path, to, new_path,
                    [&] { return ZAZEN_CALL(renameat2, from, old_path, to, new_path, flags); });
}

// A second name changes the file's ctime: the copy under the first name becomes stale.
ZAZEN_HOOK int link(const char* old_path, const char* new_path) {
  return change_two(AT_FDCWD, old_path, AT_FDCWD, new_path,
                    [&] { return ZAZEN_CALL(link, old_path, new_path); });
}

ZAZEN_HOOK int linkat(int from, const char* old_path, int to, const char* new_path, int flags) {
  auto link = [&](const zazen::Route& route, int directory, const char* path, int how) {
    return change_two(route, to, new_path,
                      [&] { return ZAZEN_CALL(linkat, directory, path, to, new_path, how); });
  };
  if ((flags & AT_EMPTY_PATH) != 0 && zazen::is_empty_string(old_path)) {
    zazen::CopyOrigin origin;
    if (!zazen::find_origin(from, &origin)) {
      return link(zazen::route_of_open(from), from, old_path, flags);
    }
    zazen::RawFd file(zazen::open_origin(origin));
    if (!file.valid()) {
      errno = ENOENT;  // as for a file that has lost its name
      return -1;
    }
    int result = link(zazen::route_for(AT_FDCWD, origin.path), file.get(), old_path, flags);
    if (result == 0) zazen::renew_identity(from, &origin);
    return result;
  }
  if ((flags & AT_SYMLINK_FOLLOW) != 0 && zazen::is_symlink(from, old_path)) {
    zazen::FollowedLink followed(from, old_path);
    int result = link(followed.route(), from, followed.path(), flags);
    if (result == 0) followed.renew();
    return result;
  }
  return link(zazen::route_for(from, old_path), from, old_path, flags);
}

ZAZEN_HOOK int symlink(const char* target, const char* path) {
  return change_frame(AT_FDCWD, path, [&] { return ZAZEN_CALL(symlink, target, path); });
}

ZAZEN_HOOK int symlinkat(const char* target, int dirfd, const char* path) {
  return change_frame(dirfd, path, [&] { return ZAZEN_CALL(symlinkat, target, dirfd, path); });
}

ZAZEN_HOOK int mkdir(const char* path, mode_t mode) {
  return change_frame(AT_FDCWD, path, [&] { return ZAZEN_CALL(mkdir, path, mode); });
}

ZAZEN_HOOK int mkdirat(int dirfd, const char* path, mode_t mode) {
  return change_frame(dirfd, path, [&] { return ZAZEN_CALL(mkdirat, dirfd, path, mode); });
}

ZAZEN_HOOK int mknod(const char* path, mode_t mode, dev_t device) {
  return change_frame(AT_FDCWD, path, [&] { return ZAZEN_CALL(mknod, path, mode, device); });
}

ZAZEN_HOOK int mknodat(int dirfd, const char* path, mode_t mode, dev_t device) {
  return change_frame(dirfd, path,
                      [&] { return ZAZEN_CALL(mknodat, dirfd, path, mode, device); });
}

ZAZEN_HOOK int mkfifo(const char* path, mode_t mode) {
  return change_frame(AT_FDCWD, path, [&] {
    return ZAZEN_FORWARD(mkfifo, (path, mode), raw::status(SYS_mknod, path, mode | S_IFIFO, 0));
  });
}

ZAZEN_HOOK int mkfifoat(int dirfd, const char* path, mode_t mode) {
  return change_frame(dirfd, path, [&] {
    return ZAZEN_FORWARD(mkfifoat, (dirfd, path, mode),
                         raw::status(SYS_mknodat, dirfd, path, mode | S_IFIFO, 0));
  });
}

ZAZEN_HOOK int rmdir(const char* path) {
  int result = ZAZEN_CALL(rmdir, path);
  if (result == 0) zazen::forget_lookups();  // as for rename
  return result;
}

ZAZEN_HOOK int truncate(const char* path, off_t length) {
  return change_followed(AT_FDCWD, path,
                         [&](const char* name) { return ZAZEN_CALL(truncate, name, length); });
}

ZAZEN_HOOK int truncate64(const char* path, off64_t length) {
  return change_followed(AT_FDCWD, path, [&](const char* name) {
    return ZAZEN_FORWARD(truncate64, (name, length), raw::status(SYS_truncate, name, length));
  });
}
