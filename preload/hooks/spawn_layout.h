// What posix_spawn's file actions look like in memory. They are libc's own affair: before a
// program's are read, a list that we made ourselves is compared with this description, field
// by field. A libc with another one has all of them to itself.
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
    int fd;  // the others'; of closefrom the first
  };
};

struct SpawnActions {
  const SpawnAction* first;
  std::size_t count;
};

// Makes such a list and compares, once in a process. It allocates, as adding an action does:
// call it only there.
void learn_spawn_layout();

// No actions, if the layout is not known.
SpawnActions spawn_actions(const posix_spawn_file_actions_t* actions);

// The same list with other actions in it.
posix_spawn_file_actions_t with_actions(const posix_spawn_file_actions_t& actions,
                                        SpawnAction* other);

}  // namespace zazen
