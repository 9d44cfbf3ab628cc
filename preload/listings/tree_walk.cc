#include "preload/listings/tree_walk.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/listings/directory_stream.h"
#include "preload/process/dataset_matcher.h"

namespace zazen {
namespace {

constexpr std::size_t kUsualPath = 4096;

int compare_keys(const void* left, const void* right) {
  const DirectoryKey& a = *static_cast<const DirectoryKey*>(left);
  const DirectoryKey& b = *static_cast<const DirectoryKey*>(right);
  if (a.ino != b.ino) return a.ino < b.ino ? -1 : 1;
  if (a.dev != b.dev) return a.dev < b.dev ? -1 : 1;
  return 0;
}

// ftw has fewer types than nftw.
int plain_type(int type) {
  switch (type) {
    case FTW_SL:
      return FTW_F;
    case FTW_DP:
      return FTW_D;
    case FTW_SLN:
      return FTW_NS;
    default:
      return type;
  }
}

}  // namespace

TreeWalk::TreeWalk(const TreeVisitor& visitor, int flags, int open_limit)
    : visitor_(visitor), flags_(flags), open_limit_(open_limit < 1 ? 1 : open_limit) {}

TreeWalk::~TreeWalk() {
  ErrnoKeeper keep;
  if (home_fd_ >= 0) {
    if (::fchdir(home_fd_) != 0) errno = 0;
    raw::close(home_fd_);
  } else if (home_path_ != nullptr && ::chdir(home_path_) != 0) {
    errno = 0;
  }
  ::free(home_path_);
  ::tdestroy(seen_, ::free);
  ::free(path_);
}

int TreeWalk::run(const char* top) {
  if (top[0] == '\0') {
    errno = ENOENT;
    return -1;
  }
  if (!set_path(top)) return -1;
  if (has(FTW_CHDIR) && !go_home_later()) return -1;
  int result = walk_top();
  if (has(FTW_ACTIONRETVAL) && (result == FTW_SKIP_SUBTREE || result == FTW_SKIP_SIBLINGS)) {
    result = 0;
  }
  return result;
}

// Without slashes at its end; the base is the offset of the last component.
bool TreeWalk::set_path(const char* top) {
  std::size_t length = std::strlen(top);
  path_capacity_ = 2 * length < kUsualPath ? kUsualPath : 2 * length;
  path_ = static_cast<char*>(::malloc(path_capacity_));
  if (path_ == nullptr) return false;
  while (length > 1 && top[length - 1] == '/') --length;
  std::memcpy(path_, top, length);
  path_[length] = '\0';
  while (length > 0 && path_[length - 1] != '/') --length;
  position_.base = static_cast<int>(length);
  return true;
}

bool TreeWalk::append_name(const char* name) {
  std::size_t base = static_cast<std::size_t>(position_.base);
  std::size_t length = std::strlen(name);
  if (base + length + 2 > path_capacity_) {
    std::size_t larger = 2 * (base + length + 2);
    void* memory = ::realloc(path_, larger);
    if (memory == nullptr) return false;
    path_ = static_cast<char*>(memory);
    path_capacity_ = larger;
  }
  std::memcpy(path_ + base, name, length + 1);
  return true;
}

// With FTW_CHDIR names are relative to the walk's current directory.
const char* TreeWalk::top_name() const {
  if (!has(FTW_CHDIR)) return path_;
  const char* name = path_ + position_.base;
  return name[0] == '\0' ? "." : name;
}

// Remembers the working directory and changes to that of the walk's top.
bool TreeWalk::go_home_later() {
  home_fd_ = openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY);
  if (home_fd_ < 0 && errno == EACCES) home_path_ = ::getcwd(nullptr, 0);
  if (home_fd_ < 0 && home_path_ == nullptr) return false;
  if (open_limit_ > 1) --open_limit_;
  if (position_.base == 0) return true;
  if (position_.base == 1) return ::chdir("/") == 0;
  char* end = path_ + position_.base - 1;
  char slash = *end;
  *end = '\0';
  bool done = ::chdir(path_) == 0;
  *end = slash;
  return done;
}

int TreeWalk::walk_top() {
  struct stat st;
  const char* name = top_name();
  if ((has(FTW_PHYS) ? lstat(name, &st) : stat(name, &st)) != 0) {
    bool dangling =
        !has(FTW_PHYS) && errno == ENOENT && lstat(name, &st) == 0 && S_ISLNK(st.st_mode);
    return dangling ? visit(st, FTW_SLN) : -1;
  }
  if (!S_ISDIR(st.st_mode)) return visit(st, S_ISLNK(st.st_mode) ? FTW_SL : FTW_F);
  device_ = st.st_dev;
  if (!has(FTW_PHYS) && remember(st) < 0) return -1;
  return enter(st, nullptr);
}

int TreeWalk::visit(const struct stat& st, int type) {
  if (visitor_.plain != nullptr) return visitor_.plain(path_, &st, plain_type(type));
  return visitor_.detailed(path_, &st, type, &position_);
}

int TreeWalk::enter(const struct stat& st, Level* outer) {
  Level level{outer, nullptr, nullptr};
  if (!open_level(&level)) return errno == EACCES ? visit(st, FTW_DNR) : -1;
  int result = has(FTW_DEPTH) ? 0 : visit(st, FTW_D);
  if (result == 0 && has(FTW_CHDIR) && ::fchdir(::dirfd(level.stream)) != 0) result = -1;
  if (result != 0) {
    close_level(&level);
    return result;
  }

  int base = position_.base;
  std::size_t length = std::strlen(path_);
  if (path_[length - 1] != '/') path_[length++] = '/';
  position_.base = static_cast<int>(length);
  ++position_.level;
  result = read_level(level);
  close_level(&level);
  if (has(FTW_ACTIONRETVAL) && result == FTW_SKIP_SIBLINGS) result = 0;
  path_[position_.base - 1] = '\0';
  --position_.level;
  position_.base = base;

  if (result == 0 && has(FTW_DEPTH)) result = visit(st, FTW_DP);
  if (outer != nullptr && has(FTW_CHDIR) && !stops(result) && !step_out(outer)) result = -1;
  return result;
}

bool TreeWalk::stops(int result) const {
  if (result == 0) return false;
  return !has(FTW_ACTIONRETVAL) || result == -1 || result == FTW_STOP;
}

// A level may be closed while one of its entries is processed.
int TreeWalk::read_level(Level& level) {
  while (level.stream != nullptr) {
    struct dirent64* entry = readdir64(level.stream);
    if (entry == nullptr) return 0;
    int result = handle(level, entry->d_name);
    if (result != 0) return result;
  }
  for (const char* name = level.names; *name != '\0'; name += std::strlen(name) + 1) {
    int result = handle(level, name);
    if (result != 0) return result;
  }
  return 0;
}

int TreeWalk::handle(Level& level, const char* name) {
  if (is_dot(name)) return 0;
  if (!append_name(name)) return -1;
  struct stat st;
  int type = classify(level, name, &st);
  if (type < 0) return -1;
  if (has(FTW_MOUNT) && type != FTW_NS && st.st_dev != device_) return 0;
  int result = 0;
  if (type != FTW_D) {
    result = visit(st, type);
  } else {
    int first_time = has(FTW_PHYS) ? 1 : remember(st);
    if (first_time < 0) return -1;
    if (first_time > 0) result = enter(st, &level);
  }
  return has(FTW_ACTIONRETVAL) && result == FTW_SKIP_SUBTREE ? 0 : result;
}

// FTW_D, FTW_F, FTW_SL, FTW_SLN or FTW_NS; -1 if the walk cannot go on.
int TreeWalk::classify(const Level& level, const char* name, struct stat* st) const {
  int directory = level.stream != nullptr ? ::dirfd(level.stream) : AT_FDCWD;
  if (level.stream == nullptr && !has(FTW_CHDIR)) name = path_;
  if (fstatat(directory, name, st, has(FTW_PHYS) ? AT_SYMLINK_NOFOLLOW : 0) == 0) {
    return S_ISDIR(st->st_mode) ? FTW_D : S_ISLNK(st->st_mode) ? FTW_SL : FTW_F;
  }
  if (errno != EACCES && errno != ENOENT) return -1;
  if (has(FTW_PHYS)) return FTW_NS;
  bool is_link = fstatat(directory, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st->st_mode);
  return is_link ? FTW_SLN : FTW_NS;
}

bool TreeWalk::open_level(Level* level) {
  if (open_count_ == open_limit_ && !close_outermost()) return false;
  if (level->outer != nullptr && level->outer->stream != nullptr) {
    int fd = openat(::dirfd(level->outer->stream), path_ + position_.base,
                    O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0) return false;
    level->stream = fdopendir(fd);
    if (level->stream == nullptr) {
      ErrnoKeeper keep;
      raw::close(fd);
    }
  } else {
    level->stream = opendir(top_name());
  }
  if (level->stream == nullptr) return false;
  ++open_count_;
  innermost_ = level;
  return true;
}

// Keeps the limit on open directories: the outermost level closes its stream and keeps its
// names.
bool TreeWalk::close_outermost() {
  Level* level = nullptr;
  for (Level* each = innermost_; each != nullptr; each = each->outer) {
    if (each->stream != nullptr) level = each;
  }
  if (level == nullptr) return true;
  std::size_t used = 0, capacity = 0;
  char* names = nullptr;
  const char* name = nullptr;
  do {
    struct dirent64* entry = readdir64(level->stream);
    name = entry == nullptr ? "" : entry->d_name;
    std::size_t size = std::strlen(name) + 1;
    if (used + size > capacity) {
      capacity = 2 * capacity + 1024;
      void* memory = ::realloc(names, capacity);
      if (memory == nullptr) {
        ::free(names);
        return false;
      }
      names = static_cast<char*>(memory);
    }
    std::memcpy(names + used, name, size);
    used += size;
  } while (*name != '\0');
  closedir(level->stream);
  level->stream = nullptr;
  level->names = names;
  --open_count_;
  return true;
}

void TreeWalk::close_level(Level* level) {
  ErrnoKeeper keep;
  if (level->stream != nullptr) {
    closedir(level->stream);
    --open_count_;
  }
  ::free(level->names);
  innermost_ = level->outer;
}

bool TreeWalk::step_out(const Level* outer) const {
  if (outer->stream != nullptr && ::fchdir(::dirfd(outer->stream)) == 0) return true;
  return ::chdir(position_.base == 1 ? "/" : "..") == 0;
}

int TreeWalk::remember(const struct stat& directory) {
  auto* key = static_cast<DirectoryKey*>(::malloc(sizeof(DirectoryKey)));
  if (key == nullptr) return -1;
  *key = {directory.st_dev, directory.st_ino};
  void* node = ::tsearch(key, &seen_, compare_keys);
  bool is_new = node != nullptr && *static_cast<DirectoryKey**>(node) == key;
  if (!is_new) ::free(key);
  return node == nullptr ? -1 : is_new;
}

}  // namespace zazen
