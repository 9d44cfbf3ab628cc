// posix_spawn: the new program gets the rank's view. libc carries out the file actions in the
// child by internal names; the hook handles them like opens.
//
// For a frame that an action opens for reading, a copied list gets the path of the frame's
// copy; the caller's list is unchanged. The path is checked beforehand, as for any open. The
// copy may disappear in between, so a failed spawn is repeated with the caller's list. (So
// nothing is replaced if an action creates a file with O_EXCL, which cannot be repeated.) A
// frame that an action opens for writing counts as opened, also if a later action or the exec
// fails.
//
// May run in a vfork child: writes only the stack and memory that is shared anyway.
#include <cstring>

#include "preload/calls/guard.h"
#include "preload/calls/hook.h"
#include "preload/calls/raw.h"
#include "preload/calls/real.h"
#include "preload/frames/cached_copy.h"
#include "preload/frames/copy_origin.h"
#include "preload/frames/origin_open.h"
#include "preload/hooks/spawn_layout.h"
#include "preload/process/settings.h"
#include "preload/process/view_environment.h"

namespace raw = zazen::raw;

namespace {

using zazen::Route;
using zazen::SpawnAction;
using zazen::SpawnActions;

constexpr std::size_t kMaxReplacedActions = 1024;
constexpr std::size_t kTextRoom = 8192;

// The child's working directory, as changed by the actions.
class WorkingDirectory {
 public:
  WorkingDirectory() = default;
  ~WorkingDirectory() { set(AT_FDCWD, false); }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

  // Can this path be looked up from here?
  bool reaches(const char* path) const { return is_known_ || *path == '/'; }
  int fd() const { return fd_; }

  void enter(const char* path) {
    if (!reaches(path)) return;
    int fd = raw::openat(fd_, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    set(fd < 0 ? AT_FDCWD : fd, fd >= 0);
    is_known_ = fd >= 0;
  }
  void enter(int fd, bool is_ours) {
    set(is_ours ? fd : AT_FDCWD, false);
    is_known_ = is_ours;
  }

 private:
  void set(int fd, bool owned) {
    if (is_owned_) raw::close(fd_);
    fd_ = fd;
    is_owned_ = owned;
  }

  int fd_ = AT_FDCWD;
  bool is_owned_ = false;
  bool is_known_ = true;
};

// After these actions the number means the same in the child as here.
bool is_untouched(const SpawnAction* action, const SpawnAction* end, int fd) {
  for (; action != end; ++action) {
    if (action->kind == SpawnAction::kOpen && action->open.fd == fd) return false;
    if (action->kind == SpawnAction::kDup2 && action->dup2.new_fd == fd) return false;
  }
  return true;
}

// Calls visit(index, route, directory) for each action that opens a frame.
template <class Visit>
void each_opened_frame(const SpawnActions& actions, Visit visit) {
  zazen::ErrnoKeeper keep;
  WorkingDirectory directory;
  for (std::size_t i = 0; i < actions.count; ++i) {
    const SpawnAction& action = actions.first[i];
    switch (action.kind) {
      case SpawnAction::kOpen:
        if (!directory.reaches(action.open.path)) break;
        if (Route route = zazen::route_for(directory.fd(), action.open.path)) {
          visit(i, route, directory.fd());
        }
        if (zazen::may_write(action.open.flags) &&
            zazen::is_symlink(directory.fd(), action.open.path)) {
          zazen::FollowedLink link(directory.fd(), action.open.path);
          if (link.route()) visit(i, link.route(), directory.fd());
        }
        break;
      case SpawnAction::kChdir:
        directory.enter(action.chdir);
        break;
      case SpawnAction::kFchdir:
        directory.enter(action.fd, is_untouched(actions.first, &action, action.fd));
        break;
      default:
        break;
    }
  }
}

bool opens_frame(const SpawnActions& actions) {
  bool found = false;
  each_opened_frame(actions, [&](std::size_t, const Route&, int) { found = true; });
  return found;
}

// The frames that actions open for writing, from before the spawn until after it. A frame that
// is opened without being truncated or created is held open here meanwhile. So its copy is
// suspended before the child opens the frame, and stays so until the child has it open.
class Writes {
 public:
  explicit Writes(const SpawnActions& actions) : actions_(actions) {
    each_write([&](std::size_t i, const Route& route, int directory) {
      const SpawnAction::Open& open = actions.first[i].open;
      int flags = open.flags & (O_ACCMODE | O_NOFOLLOW);
      bool only_opens = (open.flags & (O_TRUNC | O_EXCL)) == 0 && flags != O_RDONLY;
      int fd = only_opens && count_ < kMost
                   ? raw::openat(directory, open.path, flags | O_CLOEXEC | O_NONBLOCK, 0)
                   : -1;
      if (fd < 0) {
        zazen::Change change(route);
        return;
      }
      held_[count_++] = {i, fd};
      zazen::Change(route, flags).done(fd);
    });
  }
  ~Writes() {
    each_write([&](std::size_t i, const Route& route, int) {
      int fd = find(i);
      int flags = actions_.first[i].open.flags & (O_ACCMODE | O_NOFOLLOW);
      fd < 0 ? zazen::Change(route).done(0) : zazen::Change(route, flags).done(fd);
    });
    for (std::size_t i = 0; i < count_; ++i) raw::close(held_[i].fd);
  }
  Writes(const Writes&) = delete;
  Writes& operator=(const Writes&) = delete;

 private:
  static constexpr std::size_t kMost = 16;
  struct Held {
    std::size_t action;
    int fd;
  };

  template <class Visit>
  void each_write(Visit visit) {
    each_opened_frame(actions_, [&](std::size_t i, const Route& route, int directory) {
      if (zazen::may_write(actions_.first[i].open.flags)) visit(i, route, directory);
    });
  }
  int find(std::size_t action) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (held_[i].action == action) return held_[i].fd;
    }
    return -1;
  }

  const SpawnActions& actions_;
  Held held_[kMost];
  std::size_t count_ = 0;
};

bool can_be_repeated(const SpawnActions& actions) {
  for (std::size_t i = 0; i < actions.count; ++i) {
    const SpawnAction& action = actions.first[i];
    if (action.kind == SpawnAction::kOpen && (action.open.flags & O_EXCL) != 0) return false;
  }
  return true;
}

bool takes_other_ids(const posix_spawnattr_t* attributes) {
  short flags = 0;
  return attributes != nullptr && ::posix_spawnattr_getflags(attributes, &flags) == 0 &&
         (flags & POSIX_SPAWN_RESETIDS) != 0;
}

// The child will read the origin: counts a miss and asks the daemon for a copy.
void miss(const Route& route, int directory, const SpawnAction::Open& open) {
  struct stat st;
  if (!zazen::only_reads(open.flags) || raw::fstatat(directory, open.path, &st, 0) != 0 ||
      !S_ISREG(st.st_mode)) {
    return;
  }
  int flags = open.flags | O_CLOEXEC | O_NONBLOCK;
  int fd = zazen::origin_opened(route, flags, raw::openat(directory, open.path, flags, 0));
  if (fd >= 0) raw::close(fd);
}

// A list of actions with copies in it.
class Replaced {
 public:
  Replaced(const SpawnActions& actions, SpawnAction* room) : first_(room) {
    std::memcpy(first_, actions.first, actions.count * sizeof *first_);
    each_opened_frame(actions, [&](std::size_t i, const Route& route, int directory) {
      if (zazen::may_write(first_[i].open.flags))
        return keep_from_copy(first_[i].open, directory);
      int fd = zazen::open_copy(route, first_[i].open.flags | O_CLOEXEC);
      if (fd < 0) return miss(route, directory, first_[i].open);
      raw::close(fd);
      if (const char* path = keep_path(route)) first_[i].open.path = path;
    });
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

  SpawnAction* first() { return first_; }

  bool has_replaced() const { return used_ != 0; }

 private:
  const char* keep_path(const Route& route) {
    zazen::CopyPath copy(route, alloca(zazen::CopyPath::room(route)));
    return copy ? keep_text(copy.text) : nullptr;
  }

  const char* keep_text(const char* text) {
    std::size_t size = std::strlen(text) + 1;
    if (size > sizeof text_ - used_) return nullptr;
    char* kept = text_ + used_;
    std::memcpy(kept, text, size);
    used_ += size;
    return kept;
  }

  // Through a link to an open copy the child must write to the origin.
  void keep_from_copy(SpawnAction::Open& open, int directory) {
    if (!zazen::is_symlink(directory, open.path)) return;
    zazen::FollowedLink link(directory, open.path);
    if (link.origin() == nullptr) return;
    const char* path = keep_text(link.path());
    if (path != nullptr) open.path = path;
  }

  SpawnAction* first_;
  std::size_t used_ = 0;
  char text_[kTextRoom];  // the copies' paths, in sequence
};

template <class Spawn>
int spawn_with_copies(const posix_spawn_file_actions_t* list, const SpawnActions& actions,
                      Spawn spawn) {
  std::size_t bytes = actions.count * sizeof(SpawnAction);
  Replaced replaced(actions, static_cast<SpawnAction*>(__builtin_alloca(bytes)));
  posix_spawn_file_actions_t other = zazen::with_actions(*list, replaced.first());
  int result = spawn(&other);
  return result != 0 && replaced.has_replaced() ? spawn(list) : result;
}

template <class Spawn>
int spawn_program(const posix_spawn_file_actions_t* list, const posix_spawnattr_t* attributes,
                  Spawn spawn) {
  SpawnActions actions = zazen::spawn_actions(list);
  if (!opens_frame(actions)) [[likely]]
    return spawn(list);
  Writes writes(actions);
  bool replace = actions.count <= kMaxReplacedActions && can_be_repeated(actions) &&
                 !takes_other_ids(attributes);
  return replace ? spawn_with_copies(list, actions, spawn) : spawn(list);
}

}  // namespace

using zazen::real::late;
using zazen::real::next;

ZAZEN_HOOK int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t* actions, int fd,
                                                const char* path, int flags, mode_t mode) {
  if (zazen::settings.active && !zazen::guard_is_raised()) zazen::learn_spawn_layout();
  return late(next.posix_spawn_file_actions_addopen)(actions, fd, path, flags, mode);
}

#define SPAWN_HOOK(name)                                                                    \
  ZAZEN_HOOK int name(                                                                      \
      pid_t* pid, const char* program, const posix_spawn_file_actions_t* actions,           \
      const posix_spawnattr_t* attributes, char* const argv[], char* const envp[]) {        \
    ZAZEN_WITH_VIEW(envp)                                                                   \
    return spawn_program(actions, attributes, [&](const posix_spawn_file_actions_t* list) { \
      return late(next.name)(pid, program, list, attributes, argv, envp);                   \
    });                                                                                     \
  }
SPAWN_HOOK(posix_spawn)
SPAWN_HOOK(posix_spawnp)
