// The layout of posix_spawn's file actions in memory. It is internal to libc. So before a
// program's actions are read, a list that we made ourselves is compared with this description,
// field by field. With another layout, all actions are left to libc.
#pragma once
#include <spawn.h>
#include <sys/types.h>

#include <cstddef>

namespace zazen {

struct SpawnAction {
  enum Kind : int { kClose, kDup2, kOpen, kChdir, kFchdir, kClosefrom };  // and harmless ones
  struct Open {
    int fd;
    const char* path;
    int flags;
    mode_t mode;
  };
  struct Dup2 {
    int fd;
    int new_fd;
  };

  Kind kind;
  union {
    Open open;
    Dup2 dup2;
    const char* chdir;
    int fd;  // the other actions'; of closefrom the first one
  };
};

struct SpawnActions {
  const SpawnAction* first;
  std::size_t count;
};

// Makes such a list and compares it, once in a process. It allocates, as adding an action does;
// call it only there.
void learn_spawn_layout();

// No actions if the layout is not known.
SpawnActions spawn_actions(const posix_spawn_file_actions_t* actions);

// The same list with other actions in it.
posix_spawn_file_actions_t with_actions(const posix_spawn_file_actions_t& actions,
                                        SpawnAction* other);

}  // namespace zazen
