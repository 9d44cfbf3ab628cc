/* A frame that a file action of posix_spawn opens for writing is never read old again. Ends
   with the dataset changed, as changes.c does. */
#include <spawn.h>
#include <sys/wait.h>

#include "check.h"

extern char** environ;
static const char* dir;
static posix_spawn_file_actions_t actions;

static void run(const char* what, const char* program) {
  char* args[] = {"echo", (char*)(intptr_t)what, NULL};
  pid_t pid = 0;
  int result = posix_spawn(&pid, program, &actions, NULL, args, environ);
  printf("%s: %s\n", what, result == 0 ? "started" : strerrorname_np(result));
  if (result == 0) waitpid(pid, NULL, 0);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawn_file_actions_init(&actions);
}

static void add(int fd, const char* path, int flags) {
  posix_spawn_file_actions_addopen(&actions, fd, path, flags, 0640);
}

static void read_back(const char* name) {
  char what[64];
  snprintf(what, sizeof what, "  %s", name);
  show_fd(what, open(join(dir, name), O_RDONLY));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  dir = argv[1];
  setvbuf(stdout, NULL, _IONBF, 0);
  posix_spawn_file_actions_init(&actions);
  add(1, join(dir, "f1"), O_WRONLY | O_TRUNC);
  run("truncated", "/bin/echo");
  read_back("f1");
  add(1, join(dir, "f2"), O_WRONLY | O_APPEND);
  run("appended", "/bin/echo");
  read_back("f2");
  add(1, join(dir, "f3"), O_RDWR);
  run("overwritten", "/bin/echo");
  read_back("f3");
  add(1, join(dir, "f100"), O_WRONLY | O_CREAT | O_EXCL);
  run("made", "/bin/echo");
  read_back("f100");
  add(7, join(dir, "f4"), O_WRONLY | O_TRUNC);
  run("truncated, and no program", "/none");
  read_back("f4");
  add(7, join(dir, "f5"), O_WRONLY | O_TRUNC);
  add(8, join(dir, "f999"), O_RDONLY);
  run("truncated, and a missing file", "/bin/echo");
  read_back("f5");
  posix_spawn_file_actions_addchdir_np(&actions, dir);
  add(1, "f6", O_WRONLY | O_TRUNC);
  run("relative", "/bin/echo");
  read_back("f6");
  add(7, join(dir, "f7"), O_WRONLY | O_TRUNC);
  add(0, join(dir, "f7"), O_RDONLY);
  add(1, join(dir, "f8"), O_WRONLY | O_TRUNC);
  run("written and read", "/bin/cat");
  read_back("f7");
  read_back("f8");
  return 0;
}
